"""A word about a command that was tried before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from logbook_agent.findings.read import read
from logbook_agent.findings.tried.hints import is_indexed, readable_record
from logbook_agent.findings.tried.keys import (
    COMPARED,
    command_key,
    command_of,
    contradicts,
    mark_of,
    planned_commands,
)
from logbook_agent.findings.tried.texts import measured_text, outcome_text, run_failure_text
from logbook_agent.model.entry import VOID, PlannedCommand
from logbook_agent.model.errors import LogbookError
from logbook_agent.model.record import Record, RunStatus
from logbook_agent.model.run import Code, Device, Launch, Run
from logbook_agent.model.scalar import Scalar
from logbook_agent.running.prepare import Command
from logbook_agent.store.book import Book
from logbook_agent.store.tried import Hint
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.words import split_env_words

# Entries with the same command of which the newest are read, and comparisons of each.
_READ, _KEEPERS = 10, 3
_LINES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A command that is about to be run or is planned. `command`: its words without variables and a launcher's prefix,
    `env` the variables set for it, `config` what is declared, `cwd` where it would run."""

    command: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, Scalar] = field(default_factory=dict)
    launch: Launch | None = None


def attempt_of(command: Command, config: Mapping[str, Scalar]) -> Attempt:
    """What a prepared command is about to try."""
    return Attempt(
        command=command.argv if command.launch is None else command.launch.command,
        cwd=command.cwd,
        env=command.env if command.launch is None else {**command.env, **command.far_env},
        config=config,
        launch=command.launch,
    )


def attempts_of(workspace: Workspace, planned: Sequence[PlannedCommand]) -> list[Attempt]:
    """What planned commands are going to try, here and as things are now."""
    found = []
    for command in planned:
        env, words = ({}, command.argv) if command.shell else split_env_words(command.argv)
        found.append(Attempt(command=tuple(words), cwd=workspace.cwd, env=env))
    return found


def tried_before(
    workspace: Workspace, book: Book, attempts: Sequence[Attempt], *, own_id: str | None = None, measured: bool = False
) -> list[str]:
    """What came out of the same commands before, in at most three lines: failures, verdicts that found no gain, what
    was marked; with `measured` also what was measured. Entry `own_id` is left out.

    Never raises: that something was tried is worth a word, and no more.
    """
    negative: dict[str, None] = {}
    others: dict[str, None] = {}
    if not attempts or not is_indexed(workspace, book):
        return []
    try:
        for attempt in attempts:
            for entry_id, is_negative, text in _Looking(workspace, book, attempt).found(own_id, measured):
                (negative if is_negative else others).setdefault(f"{entry_id} {text}")
    except (LogbookError, OSError):
        return []
    lines = [f"tried before: {t}" for t in negative] + [f"measured before: {t}" for t in others]
    if len(lines) <= _LINES:
        return lines
    return [*lines[: _LINES - 1], f"and {len(lines) - _LINES + 1} more entries: logbook tried"]


class _Looking:
    """One command, and what the store holds of it."""

    def __init__(self, workspace: Workspace, book: Book, attempt: Attempt) -> None:
        self._workspace, self._book, self._attempt = workspace, book, attempt
        self._findings = read(workspace, book)
        self._key = command_key(workspace.redactor.argv(attempt.command))

    def found(self, own_id: str | None, measured: bool) -> Iterator[tuple[str, bool, str]]:
        """Entry, whether it is a negative outcome, and what to say. A failure that a newer entry got over is none."""
        mended = False
        metrics = [m.name for m in self._book.header.metrics]
        for hint in self._hints(own_id, measured):
            entry_id = hint.id
            record = readable_record(self._book, entry_id)
            if record is None or record.state == VOID:
                continue
            runs = [s for s in record.runs if self._is_same(s)]
            said = self._negative(record, runs, mended=mended)
            mended = mended or bool(runs and run_failure_text(runs[-1]) is None)
            if said is not None:
                yield entry_id, True, f"{self._where(runs)}: {said}".lstrip()
            elif measured and runs and runs[-1].state == "finished":
                yield entry_id, False, f"{self._where(runs)}: {measured_text(runs[-1], metrics)}"

    def _hints(self, own_id: str | None, measured: bool) -> list[Hint]:
        """The entries worth reading, the newest first: where something did not work out, the one that came right after
        a failure and may have got over it, and with `measured` all."""
        hints = [h for h in self._book.tried.found(self._key, compared=COMPARED) if h.id != own_id]
        after = [newer for newer, older in pairwise(hints) if older.failed]
        return [h for h in hints if measured or h.failed or h.compared or h in after][:_READ]

    def _is_same(self, status: RunStatus) -> bool:
        run = status.run
        ended = status.state in ("finished", "failed", "timeout")
        return ended and command_key(command_of(run)) == self._key and not contradicts(run.config, self._attempt.config)

    def _negative(self, record: Record, runs: Sequence[RunStatus], *, mended: bool) -> str | None:
        """The last outcome of the command in an entry, unless it just ran."""
        if runs:
            verdict = self._verdict(record, {s.run.run for s in runs})
            failure = None if mended else run_failure_text(runs[-1])
            found = [t for t in (failure, verdict) if t is not None]
            if found:
                return "; ".join(found)
        mark = mark_of(record)
        if mark is not None and (runs or self._key in map(command_key, planned_commands(record))):
            return f"{mark[0]}: {mark[1]}" if mark[1] else mark[0]
        return None

    def _verdict(self, record: Record, runs: set[int]) -> str | None:
        """What comparisons say of these runs: those that the entry keeps, and those of other entries with it."""
        keepers = [hint.id for hint in self._book.tried.found(COMPARED + record.id)]
        found = []
        for keeper in keepers[:_KEEPERS]:
            kept = record if keeper == record.id else readable_record(self._book, keeper)
            if kept is not None:
                verdicts = self._findings.verdicts(kept.entry)
                found += [i for i in verdicts if i["entry"] == record.id and runs & {*i["runs"]}]
        if not found:
            return None
        more = f" and {len(found) - 1} more verdicts" if len(found) > 1 else ""
        # A loss says more than a difference that is too small to matter.
        return outcome_text(min(found, key=lambda i: i["outcome"] != "regressive")) + more

    # -- in what it differs ------------------------------------------------------------------------

    def _where(self, runs: Sequence[RunStatus]) -> str:
        """`run 2 (same command and config, other commit)`."""
        if not runs:
            return "(planned)"
        run = runs[-1].run
        differs = self._differs(run)
        said = f"same command; {', '.join(differs)}" if differs else "same command, code and env"
        return f"run {run.run} ({said})"

    def _differs(self, run: Run) -> list[str]:
        attempt = self._attempt
        found = [self._code_differs(run.code)]
        only = sorted({*run.config} ^ {*attempt.config})
        found.append(f"config {', '.join(only[:5])} not given both times" if only else None)
        if (run.launcher and (run.launcher.name, run.launcher.target)) != (
            attempt.launch and (attempt.launch.name, attempt.launch.target)
        ):
            found.append("other launcher")
        theirs = run.env.relevant | run.env.declared
        names = sorted(n for n in theirs.keys() | self._env.keys() if theirs.get(n) != self._env.get(n))
        found.append(f"other env {', '.join(names[:5])}" if names else None)
        if run.devices and self._devices and _kinds(run.devices) != _kinds(self._devices):
            found.append("other devices")
        return [text for text in found if text is not None]

    def _code_differs(self, code: Code | None) -> str | None:
        mine = self._code
        if code is None or mine is None or code.identity is None or mine.identity is None:
            return "code not known"
        if code.identity == mine.identity:
            return None
        return "other commit" if code.commit != mine.commit else "other uncommitted changes"

    @cached_property
    def _code(self) -> Code | None:
        from logbook_agent.running.provenance.git import code_facts

        attempt = self._attempt
        return code_facts(attempt.cwd, self._book.root, attempt.command, environ=self._environ).code

    @cached_property
    def _env(self) -> Mapping[str, str]:
        """As a record would have it: without what is secret, and of the far side where a launcher leads there."""
        from logbook_agent.running.provenance.environment import relevant_env

        near = {} if self._attempt.launch else relevant_env(self._environ, self._workspace.config.env)
        return self._workspace.redactor.mapping({**near, **self._attempt.env})

    @cached_property
    def _devices(self) -> tuple[Device, ...]:
        from logbook_agent.running.provenance.devices import visible_devices

        return () if self._attempt.launch else visible_devices(self._environ)

    @property
    def _environ(self) -> Mapping[str, str]:
        return {**self._workspace.environ, **self._attempt.env}


def _kinds(devices: Sequence[Device]) -> set[tuple[str, str | None, int | None]]:
    return {(d.platform, d.kind, d.count) for d in devices}
