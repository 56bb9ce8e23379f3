"""The warning that a command was tried before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import structs

from logbook_agent.findings.attempts import (
    FAILURE,
    MARKED,
    command_key,
    contradicts,
    items_of,
    outcomes_text,
    planned_commands,
    without_gain,
)
from logbook_agent.findings.read import Findings, read
from logbook_agent.findings.summaries import headline
from logbook_agent.model.codec import encode
from logbook_agent.model.comparison import CODE_AXIS
from logbook_agent.model.entry import VOID
from logbook_agent.model.errors import LogbookError
from logbook_agent.model.record import Record, RunStatus
from logbook_agent.model.run import Run
from logbook_agent.model.summary import TriedItem
from logbook_agent.model.values import Scalar
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace

# Entries with the same command of which the newest are read.
_READ = 10
_LINES = 3
_COMMIT_CHARS = 9


def tried_before(
    workspace: Workspace,
    book: Book,
    commands: Sequence[Sequence[str]],
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
    try:
        found = read(workspace, book)
        for command in commands:
            key = command_key(workspace.redactor.argv(command))
            for is_negative, text in _found(found, book, key, config, own_id, measured=measured):
                (negative if is_negative else others).setdefault(text)
    except (LogbookError, OSError):
        return []
    lines = [f"tried before: {t}" for t in negative] + [f"measured before: {t}" for t in others]
    if len(lines) <= _LINES:
        return lines
    more = len(lines) - _LINES + 1
    # That list holds what failed or had no gain.
    place = ": logbook list --tried" if len(negative) >= _LINES - 1 else ""
    return [*lines[: _LINES - 1], f"and {more} more entries{place}"]


def _found(
    findings: Findings, book: Book, key: str, config: Mapping[str, Scalar], own_id: str | None, *, measured: bool
) -> Iterator[tuple[bool, str]]:
    """Of each entry with this command, the newest first: whether it is a negative outcome, and what to say. A failure
    that a newer entry got over is none."""
    held = [one["id"] for one in reversed(findings.summaries) if key in one["keys"]]
    mended = False
    for entry_id in [one for one in held if one != own_id][:_READ]:
        try:
            record = book.record(entry_id)
        except LogbookError:
            continue  # its damage is told where it is shown
        if record.state == VOID:
            continue
        runs = [s.run for s in record.runs if _is_same(s, key, config)]
        failures = [i for i in items_of(record) if runs and (i["kind"], i["run"]) == (FAILURE, encode(runs[-1].run))]
        outcomes = [*([] if mended else failures), *_without_gain(findings, record, runs)]
        if not outcomes and (runs or key in map(command_key, planned_commands(record))):
            outcomes = [i for i in items_of(record) if i["kind"] == MARKED]
        mended = mended or bool(runs and not failures)
        said = outcomes_text(outcomes)
        if not said and measured and runs and runs[-1].rows and not failures:
            said = headline(_of_run(record, runs[-1]), book.header) or ""
        if said:
            yield bool(outcomes), f"{record.id} {_where(runs)}: {said}"


def _is_same(status: RunStatus, key: str, config: Mapping[str, Scalar]) -> bool:
    ended = status.state in ("finished", "failed", "timeout", "stalled") and status.counts
    return ended and command_key(status.run.command) == key and not contradicts(status.run.config, config)


def _without_gain(findings: Findings, record: Record, runs: Sequence[Run]) -> list[TriedItem]:
    """What the comparison of an entry found of the sides that these runs are of; one of two codes says nothing of the
    command on a third."""
    if record.entry.comparison is None or (answer := findings.comparisons.answer_of(record.id)) is None:
        return []
    axis = answer.question.axis
    if axis == CODE_AXIS:
        return []
    of = [(run.part.side, row.config) for run in runs if run.part is not None for row in run.rows]
    return [
        item
        for item in without_gain([answer])
        if any(side == item["config"][axis] and not contradicts(item["case"], config) for side, config in of)
    ]


def _where(runs: Sequence[Run]) -> str:
    """`run 2 (same command, at 3357f54a5)`, of uncommitted changes `at 3357f54a5+`."""
    if not runs:
        return "(planned)"
    code = runs[-1].code
    at = f", at {code.commit[:_COMMIT_CHARS]}{'+' * bool(code.dirty)}" if code is not None and code.commit else ""
    return f"run {runs[-1].run} (same command{at})"


def _of_run(record: Record, run: Run) -> Record:
    """A record of this run alone, whatever it was made for."""
    entry = structs.replace(record.entry, recipe=None)
    return Record(entry=entry, runs=(RunStatus(run=run, state="finished"),), state="finished")
