"""A word about a command that was tried before."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

from logbook_agent.findings.attempts import (
    COMPARED,
    FAILURE,
    MARKED,
    Item,
    command_key,
    contradicts,
    items_of,
    keys_of,
    planned_commands,
)
from logbook_agent.findings.read import read
from logbook_agent.model.entry import VOID
from logbook_agent.model.errors import LogbookError
from logbook_agent.model.record import Record, RunStatus
from logbook_agent.model.run import Row, Run
from logbook_agent.model.values import Scalar, canonical
from logbook_agent.running.prepare import Command
from logbook_agent.store.book import Book
from logbook_agent.store.tried import Hint
from logbook_agent.store.workspace import Workspace

# Entries with the same command of which the newest are read.
_READ = 10
_LINES = 3
# Differences that are named.
_SHOWN = 5
# Entries that were never looked at: more of them than this are left to `list` and its like.
_LOOKED_AT = 100


def tried_before(
    workspace: Workspace,
    book: Book,
    commands: Sequence[Command],
    config: Mapping[str, Scalar],
    *,
    own_id: str | None = None,
    measured: bool = False,
) -> list[str]:
    """What came out of the same commands with this declared config before, in at most three lines: failures, findings
    of comparisons without a gain, what was marked; with `measured` also what was measured. Entry `own_id` is left out.

    Never raises: that something was tried is worth a word, and no more.
    """
    negative: dict[str, None] = {}
    others: dict[str, None] = {}
    if not commands or not _is_indexed(workspace, book):
        return []
    try:
        for command in commands:
            for is_negative, text in _Looking(workspace, book, command, config).found(own_id, measured):
                (negative if is_negative else others).setdefault(text)
    except (LogbookError, OSError):
        return []
    lines = [f"tried before: {t}" for t in negative] + [f"measured before: {t}" for t in others]
    if len(lines) <= _LINES:
        return lines
    return [*lines[: _LINES - 1], f"and {len(lines) - _LINES + 1} more entries: logbook list --tried"]


def _is_indexed(workspace: Workspace, book: Book) -> bool:
    """Whether every entry can be found by its commands, after a look at the few that are new."""
    hints = book.tried
    folder_ns = book.entries_changed_ns()
    if hints.is_complete(folder_ns):
        return True
    names = book.entry_names()
    unseen, gone = hints.unseen(names)
    if gone:
        hints.forget(gone)
    if len(unseen) > _LOOKED_AT:
        workspace.warnings.append(
            f"did not check whether this was tried before: {len(unseen):,} entries are not indexed here yet;"
            " logbook list indexes them"
        )
        return False
    hints.keep({i: _keys(book, i) for i in sorted(unseen)}, entries=len(names), folder_ns=folder_ns)
    return True


def _keys(book: Book, entry_id: str) -> list[tuple[str, int]]:
    record = _readable_record(book, entry_id)
    return keys_of(record) if record is not None else []


def _readable_record(book: Book, entry_id: str) -> Record | None:
    try:
        return book.record(entry_id)
    except LogbookError:
        return None  # its damage is told where it is shown


class _Looking:
    """One command, and what the store holds of it."""

    def __init__(self, workspace: Workspace, book: Book, command: Command, config: Mapping[str, Scalar]) -> None:
        self._workspace, self._book, self._command, self._config = workspace, book, command, config
        self._findings = read(workspace, book)
        self._key = command_key(workspace.redactor.argv(command.words))

    def found(self, own_id: str | None, measured: bool) -> Iterator[tuple[bool, str]]:
        """Whether it is a negative outcome, and what to say. A failure that a newer entry got over is none."""
        # Most commands were not tried before.
        from logbook_agent.findings.attempts import outcomes_text

        mended = False
        for hint in self._hints(own_id, measured):
            record = _readable_record(self._book, hint.id)
            if record is None or record.state == VOID:
                continue
            runs = [s for s in record.runs if self._is_same(s)]
            failures = [i for i in items_of(record) if runs and (i["kind"], i["run"]) == (FAILURE, runs[-1].run.run)]
            outcomes = self._outcomes(record, runs, [] if mended else failures)
            mended = mended or bool(runs and not failures)
            said = outcomes_text(outcomes)
            if not said and measured and runs and runs[-1].state == "finished" and not runs[-1].run.predictions:
                from logbook_agent.findings.entry_line import headline

                said = headline(_of_run(record, runs[-1].run), self._book.header) or ""
            if said:
                yield bool(outcomes), f"{record.id} {self._where(record, runs)}: {said}"

    def _hints(self, own_id: str | None, measured: bool) -> list[Hint]:
        """The entries worth reading, the newest first: where something did not work out, the one that came right after
        a failure and may have got over it, and with `measured` all."""
        hints = [h for h in self._book.tried.found(self._key, compared=COMPARED) if h.id != own_id]
        after = [newer for newer, older in pairwise(hints) if older.failed]
        return [h for h in hints if measured or h.failed or h.compared or h in after][:_READ]

    def _is_same(self, status: RunStatus) -> bool:
        run = status.run
        ended = status.state in ("finished", "failed", "timeout") and status.counts
        return ended and command_key(run.command) == self._key and not contradicts(run.config, self._config)

    def _outcomes(self, record: Record, runs: Sequence[RunStatus], failures: Sequence[Item]) -> Sequence[Item]:
        """The last outcome of the command in an entry, unless it just ran: how it failed and what its comparison found
        of these runs, else what the entry was marked with."""
        if found := [*failures, *self._without_gain(record, [s.run for s in runs])]:
            return found
        is_of = bool(runs) or self._key in map(command_key, planned_commands(record))
        return [i for i in items_of(record) if is_of and i["kind"] == MARKED]

    def _without_gain(self, record: Record, runs: Sequence[Run]) -> list[Item]:
        """What the comparison of an entry found of the sides that these runs are of."""
        if record.entry.comparison is None or (answer := self._findings.answer_of(record.id)) is None:
            return []
        from logbook_agent.findings.comparisons import without_gain

        axis = answer.question.axis
        of = [(run.part.side, row.config) for run in runs if run.part is not None for row in run.rows]
        return [
            item
            for item in without_gain([answer])
            if any(side == item["config"][axis] and not contradicts(item["case"], config) for side, config in of)
        ]

    def _where(self, record: Record, runs: Sequence[RunStatus]) -> str:
        """`run 2 (same command; differs in commit (3357f54a5 | 99ab03c1d))`."""
        if not runs:
            return "(planned)"
        # Tables, which most commands do not need before they start.
        from logbook_agent.findings.cases import cases
        from logbook_agent.findings.tables.frame import frame_of
        from logbook_agent.findings.tables.likeness import differences

        sides = runs[-1].run, self._expected
        run, mine = (dataclasses.replace(r, rows=(Row(config=_said(r, o)),)) for r, o in (sides, sides[::-1]))
        # Together, so that one code has one name on both sides.
        frame = frame_of(cases(_of_run(record, run), _of_run(record, mine)))
        found = differences(frame, frame.items[:1], frame.items[1:], ("argv",))
        shown = ", ".join(f"{name} ({sides})" for name, sides in list(found.items())[:_SHOWN])
        said = [f"differs in {shown}"] if found else []
        said += [f"and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
        unknown = [] if any(item.key("commit") for item in frame.items) else ["commit"]
        said += ["commit not known"] if unknown else []
        return f"run {run.run} (same command{'; ' if said else ''}{', '.join(said) or ', code and env'})"

    @cached_property
    def _expected(self) -> Run:
        from logbook_agent.running.execution import expected_run

        return expected_run(self._workspace, self._book, self._command, self._config)


def _said(run: Run, other: Run) -> dict[str, Scalar]:
    """The declared config of a run, with what the other one declares besides and the command of both says: no
    difference is told of what stands in it."""
    values = {canonical(word.partition("=")[2] or word) for word in run.command}
    return {**{k: v for k, v in other.config.items() if canonical(v) in values}, **run.config}


def _of_run(record: Record, run: Run) -> Record:
    """A record of this run alone, whatever it was made for."""
    entry = dataclasses.replace(record.entry, recipe=None)
    return Record(entry=entry, runs=(RunStatus(run=run, state="finished"),), state="finished")
