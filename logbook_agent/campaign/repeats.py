"""`logbook run`: a command as an experiment, as often as it is to be repeated."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from logbook_agent.campaign.series import RunSeries, begun
from logbook_agent.entries.drafts import (
    Prose,
    check_no_prose,
    check_required,
    create_entry,
    draft_entry,
    with_relations,
)
from logbook_agent.entries.tried_before import tried_before
from logbook_agent.findings.advice import ab_more, measure
from logbook_agent.findings.case_repeats import FEWEST_PAIRS, Noise, noise_of
from logbook_agent.findings.measurements import unmeasured
from logbook_agent.findings.queries import brief_run
from logbook_agent.model.entry import Entry
from logbook_agent.model.errors import UsageError
from logbook_agent.model.record import Record, is_made
from logbook_agent.model.run import Run, Scalar
from logbook_agent.running.order import Display, RunPlan
from logbook_agent.running.prepare import Command, own_benchmark, prepare
from logbook_agent.running.run_budget import check_budget
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace, folder_of, naming
from logbook_agent.text.commands.title import title_of
from logbook_agent.text.shell_words import command_line
from logbook_agent.text.times import day

# How often a command is run to measure noise, unless a number is given.
NOISE_RUNS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What to run and how to record it. Without `argv`, `entry_id`'s planned commands are executed.

    Before the `repeat` runs of each command (None: one, or as many as noise is measured with), `discard` more are made
    that warm up and never count. `noise`: a new entry is a measurement of noise. `detach`: a single run is submitted,
    and continues without this process. `frozen`: the runs are made in a checkout of the code as it is at the start.
    """

    argv: Sequence[str] = ()
    prose: Prose = field(default_factory=Prose)
    label: str | None = None
    config: Mapping[str, Scalar] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    repeat: int | None = None
    discard: int = 0
    timeout_s: float | None = None
    stall_s: float | None = None
    read: str | None = None
    cwd: str | None = None
    keep: Sequence[str] = ()
    inputs: Sequence[str] = ()
    on: str | None = None
    entry_id: str | None = None
    shell: bool = False
    noise: bool = False
    detach: bool = False
    frozen: bool = False

    @property
    def is_single(self) -> bool:
        """Whether it is one run, whatever the entry holds."""
        return bool(self.argv) and self.times == 1 and not self.discard

    @property
    def times(self) -> int:
        """How many runs of each command count."""
        return self.repeat if self.repeat is not None else NOISE_RUNS if self.noise else 1

    def plan(self, command: Command, entry_id: str) -> RunPlan:
        """One run of this request, of a command as it was prepared."""
        return RunPlan(
            command=command,
            entry_id=entry_id,
            timeout_s=self.timeout_s,
            stall_s=self.stall_s,
            config=dict(self.config),
            keep=tuple(self.keep),
            inputs=tuple(self.inputs),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The entry, the runs just made, and the exit status that `logbook run` passes on."""

    book: Book
    entry: Entry
    runs: tuple[Run, ...]
    exit_status: int

    @property
    def noise(self) -> tuple[Noise, ...]:
        """How much all runs of the entry vary."""
        return tuple(noise_of(self.book.record(self.entry.id), self.book.header.metrics))

    def data(self) -> dict[str, Any]:
        """For machines: complete enough to decide what to do next."""
        return {
            "id": self.entry.id,
            "title": self.entry.title,
            "exit_status": self.exit_status,
            "runs": [brief_run(s, self.book.log_path) for s in self.book.statuses(self.runs)],
            "view": str(self.book.view_path),
        }


def run(
    workspace: Workspace, request: RunRequest, display: Display, *, tell: Callable[[str], None] | None = None
) -> RunResult:
    """Execute a command as an experiment. Nothing is written when the request does not fit.

    What came out when it was tried before is told by `tell` before the command starts; without it, by a warning.
    """
    book = workspace.book(request.entry_id)
    check_count("--repeat", request.times)
    check_count("--discard", request.discard, least=0)
    request = dataclasses.replace(request, prose=with_relations(book, request.prose))
    earlier = book.entry(request.entry_id) if request.entry_id is not None else None
    if request.noise:
        _check_noise(request, earlier)
    if earlier is not None:
        commands = _commands_for(workspace, book, request, earlier)
        # Who named the entry sees what it starts.
        for command in commands if not request.argv else ():
            display.progress(f"{earlier.id}: {command.shown()}")
    else:
        commands = [prepared(workspace, request)]
        check_required(workspace, request.prose, request.label)
    # Before there is a new entry, which is none of those that are looked at.
    words = [command.words for command in commands]
    for line in tried_before(workspace, book, words, request.config, own_id=earlier.id if earlier else None):
        (tell or workspace.warnings.append)(line)
    # A submission that was typed returns before its command has ended.
    is_sent = request.detach or (request.is_single and request.on is None and commands[0].submits)

    def found() -> Entry:
        return earlier or _new_entry(workspace, book, request, commands[0])

    is_planned = any(command.planned is not None for command in commands)
    with begun(workspace, book, found, display, another="logbook next" if is_planned else None) as made:
        if earlier is not None and is_planned:
            # Another process may have executed them since they were looked up.
            pending = book.record(earlier.id).pending
            commands = [command for command in commands if command.planned in pending]
            if not commands:
                raise _nothing_planned(book.record(earlier.id), request)
        orders = _orders(request, commands, made.entry.id)
        if is_sent:
            made.send(next(orders))
        else:
            for _ in made.each([orders]):
                pass
    if not is_sent:
        workspace.warnings += _unmeasured(made)
    if book.header.closing is not None:
        closed = day(book.header.closing.at, book.header.zone)
        again = command_line(["logbook", *naming(workspace, book), "close", "--reopen"])
        workspace.warnings.append(f"{book.header.topic} was closed on {closed}; to open it again: {again}")
    workspace.warnings += _rest(made, request, commands)
    return RunResult(book=book, entry=made.entry, runs=tuple(made.runs), exit_status=made.exit_status)


def _orders(request: RunRequest, commands: Sequence[Command], entry_id: str) -> Iterator[RunPlan]:
    """Each command as often as it is to be repeated, after its warm-ups."""
    for command in commands:
        # Numbers below 1 are those of warm-ups.
        for number in range(1 - request.discard, request.times + 1):
            repeat = number if request.times > 1 and number > 0 else None
            yield dataclasses.replace(request.plan(command, entry_id), repeat=repeat, discarded=number < 1)


def _new_entry(workspace: Workspace, book: Book, request: RunRequest, command: Command) -> Entry:
    check_budget(workspace, book)
    title = request.prose.title or f"{'Noise of ' * request.noise}{title_of(workspace.redactor.argv(command.words))}"
    draft = draft_entry(workspace, request.prose, title=title)
    return create_entry(workspace, book, dataclasses.replace(draft, noise=request.noise))


def _check_noise(request: RunRequest, entry: Entry | None) -> None:
    """Raises UsageError for an entry that measures something else, and for too few runs."""
    if entry is not None and not entry.noise:
        raise UsageError(
            f"{entry.id} is not a measurement of noise",
            cause="its runs are not repeats of one command, and runs that are added would change what it says",
            hint="to start a new entry, leave --id out",
        )
    if entry is None and request.times < 2 * FEWEST_PAIRS:
        raise UsageError(
            f"--repeat {request.times} is too few to measure noise",
            cause=f"noise is measured on pairs of runs, and takes at least {FEWEST_PAIRS} pairs",
            hint=f"--repeat {NOISE_RUNS}",
        )


def _unmeasured(series: RunSeries) -> list[str]:
    """Why the first runs of an entry measured nothing."""
    is_first = bool(series.runs) and series.runs[0].run == 1
    why = unmeasured(series.runs, series.book.header.metrics) if is_first else None
    return [why] if why is not None else []


def _rest(series: RunSeries, request: RunRequest, commands: Sequence[Command]) -> list[str]:
    """What is left of a series that was interrupted, and what to type; of a single run nothing needs to be said."""
    is_single = len(commands) * (request.discard + request.times) <= 1
    if not series.is_cut_off or (is_single and series.runs):
        return []
    total = len(commands) * request.times
    whole = sum(is_made(run) for run in series.runs if not run.discarded)
    again = f"the same command with --id {series.entry.id} --repeat {total - whole}"
    return [series.rest(whole, total, again if len(commands) == 1 else f"logbook run --id {series.entry.id}")]


def _commands_for(workspace: Workspace, book: Book, request: RunRequest, entry: Entry) -> list[Command]:
    """For an entry that exists: the command given, or its planned ones that have not been executed."""
    check_no_prose(entry.id, request.prose)
    if request.argv:
        return [prepared(workspace, request)]
    record = book.record(entry.id)
    if entry.comparison is not None and not entry.commands:
        raise UsageError(
            f"{entry.id} is an A/B, and has no planned command",
            cause="an A/B makes its runs in pairs",
            hint=ab_more(entry.id),
        )
    pending = [i for i in record.pending if request.label in (None, entry.commands[i].label)]
    if not pending:
        raise _nothing_planned(record, request)
    found = []
    for place in pending:
        c = entry.commands[place]
        cwd = request.cwd or str(folder_of(c.cwd, workspace))
        planned = dataclasses.replace(request, argv=c.argv, label=c.label, shell=c.shell, cwd=cwd)
        found.append(dataclasses.replace(prepared(workspace, planned), planned=place))
    return found


def _nothing_planned(record: Record, request: RunRequest) -> UsageError:
    """That an entry has no planned command to run, with what to type."""
    labels = [c.label for c in record.entry.commands if c.label]
    has_command = any(status.run.argv for status in record.runs)
    done = "each was executed" if record.entry.commands else "it has no plan"
    if any(status.run.is_reported for status in record.runs):
        done = "its command was imported: it is quoted, and runs once you have read it and type it"
    return UsageError(
        f"{record.id} has no planned command left" + (f" labelled {request.label}" if request.label else ""),
        cause=f"its planned commands: {', '.join(labels)}" if labels else done,
        hint=f"{'repeat its last command' if has_command else 'give one'}: {measure(record, times=request.times)}",
    )


def check_count(option: str, count: int | None, *, least: int = 1) -> None:
    """Raises UsageError for a number of runs or pairs below 1, or another least one."""
    if count is not None and count < least:
        raise UsageError(
            f"{option} must be at least {least}", cause=f"it is {count}", hint=f"{option} {10 if least else 1}"
        )


def prepared(workspace: Workspace, request: RunRequest, *, is_built: bool = False) -> Command:
    """The command as the request wants it run; the benchmark is this Python's own. `is_built`: a setup may build its
    program."""
    _check_inputs(workspace, request)
    return prepare(
        workspace,
        request.argv,
        env=request.env,
        cwd=request.cwd,
        on=request.on,
        shell=request.shell,
        label=request.label,
        search_first=None if request.shell else own_benchmark(request.argv, request.on),
        timeout_s=request.timeout_s or request.stall_s,
        read=request.read,
        is_built=is_built,
    )


def _check_inputs(workspace: Workspace, request: RunRequest) -> None:
    """Raises UsageError for an input that is not there; on another machine nobody looks."""
    folder = workspace.cwd / (request.cwd or ".")
    for name in request.inputs if request.on is None else ():
        path = folder / Path(name).expanduser()
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise UsageError(
                f"--input {name}: a pipe or a device",
                cause="its digest cannot be recorded: what is read of it is gone, or has no end",
                hint="write its content to a file, and name that",
            )
        if not path.exists():
            raise UsageError(
                f"--input {name}: no such file or folder",
                cause=f"it is looked for in {folder}, where the command runs",
                hint="give its path from there, or a whole one",
            )
