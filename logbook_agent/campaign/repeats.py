"""`logbook run`: a command as an experiment, as often as it is to be repeated."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct, structs

from logbook_agent.campaign.run_request import NOISE_RUNS, RunRequest, check_count, prepared
from logbook_agent.campaign.series import RunSeries, begun
from logbook_agent.entries import new_entry
from logbook_agent.entries.tried_before import tried_before
from logbook_agent.findings.advice import ab_more, measure, unreported
from logbook_agent.findings.case_repeats import FEWEST_PAIRS, Noise, noise_of
from logbook_agent.findings.queries import brief_run
from logbook_agent.findings.summaries import unmeasured
from logbook_agent.model.entry import Entry
from logbook_agent.model.errors import UsageError
from logbook_agent.model.record import Record, is_made
from logbook_agent.model.run import Run
from logbook_agent.running.order import Display, RunPlan, check_budget
from logbook_agent.running.prepare import Command
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace, folder_of
from logbook_agent.text.commands.script import title_of


class RunResult(Struct, frozen=True, kw_only=True):
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
    request = structs.replace(request, prose=new_entry.with_relations(book, request.prose))
    earlier = book.entry(request.entry_id) if request.entry_id is not None else None
    if request.noise:
        _check_noise(request, earlier)
    if earlier is not None:
        commands = _commands_for(workspace, book, request, earlier)
        # Who named the entry sees what it starts.
        for command in () if request.argv else commands:
            display.progress(f"{earlier.id}: {command.shown()}")
    else:
        commands = [prepared(workspace, request)]
        new_entry.check_required(workspace, request.prose, request.label)
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
                raise _nothing_planned(workspace, book.record(earlier.id), request)
        # Numbers below 1 are those of warm-ups.
        slots = [(c, number) for c in commands for number in range(1 - request.discard, request.times + 1)]

        def order(slot: tuple[Command, int]) -> RunPlan:
            command, number = slot
            repeat = number if request.times > 1 and number > 0 else None
            return structs.replace(request.plan(command, made.entry.id), repeat=repeat, discarded=number < 1)

        if is_sent:
            made.send(order(slots[0]))
        else:
            deque(made.each([slots], order), maxlen=0)
    workspace.warnings += _unmeasured(made) if not is_sent else []
    workspace.warnings += _rest(made, request, commands)
    return RunResult(book=book, entry=made.entry, runs=tuple(made.runs), exit_status=made.exit_status)


def _new_entry(workspace: Workspace, book: Book, request: RunRequest, command: Command) -> Entry:
    check_budget(workspace, book)
    title = request.prose.title or f"{'Noise of ' * request.noise}{title_of(workspace.redactor.argv(command.words))}"
    draft = new_entry.draft_entry(workspace, request.prose, title=title)
    return new_entry.create_entry(workspace, book, structs.replace(draft, noise=request.noise))


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
    """Why the first runs of an entry measured nothing, and the gates that none of them reports."""
    if not series.runs or series.runs[0].run != 1:
        return []
    why = unmeasured(series.runs, series.book.header.metrics)
    return [*filter(None, [why, unreported(series.book, series.book.record(series.entry.id))])]


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
    new_entry.check_no_prose(entry.id, request.prose)
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
        raise _nothing_planned(workspace, record, request)
    found = []
    for place in pending:
        c = entry.commands[place]
        cwd = request.cwd or str(folder_of(c.cwd, workspace))
        planned = structs.replace(request, argv=c.argv, label=c.label, shell=c.shell, cwd=cwd)
        found.append(structs.replace(prepared(workspace, planned), planned=place))
    return found


def _nothing_planned(workspace: Workspace, record: Record, request: RunRequest) -> UsageError:
    """That an entry has no planned command to run, with what to type."""
    labels = [c.label for c in record.entry.commands if c.label]
    place = next((status.run.cwd for status in reversed(record.runs) if status.run.argv), None)
    cwd = os.path.relpath(folder_of(place, workspace), os.path.realpath(workspace.cwd)) if place is not None else "."
    done = "each was executed" if record.entry.commands else "it has no plan"
    if any(status.run.is_reported for status in record.runs):
        done = "its command was imported: it is quoted, and runs once you have read it and type it"
    return UsageError(
        f"{record.id} has no planned command left" + (f" labelled {request.label}" if request.label else ""),
        cause=f"its planned commands: {', '.join(labels)}" if labels else done,
        hint=f"{'give one' if place is None else 'repeat its last command'}:"
        f" {measure(record, times=request.times, cwd=cwd)}",
    )
