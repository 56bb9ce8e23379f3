"""`logbook sweep`: a plan carried out in one entry, run by run, and taken up again where it was stopped."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Collection, Sequence

from logbook_agent.model.entry import Entry, PlannedCommand
from logbook_agent.model.record import CONFIRMATION, SETUP, TEARDOWN, made_again
from logbook_agent.model.run import Run
from logbook_agent.model.stats import median
from logbook_agent.pages.views import refresh
from logbook_agent.running.execution import ProgressDisplay, run_once
from logbook_agent.running.execution import RunPlan as Execution
from logbook_agent.running.launch.process import exit_status
from logbook_agent.running.launch.signals import StopRequests
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.sweeps import state
from logbook_agent.sweeps.chosen import Chosen
from logbook_agent.sweeps.log import write_log
from logbook_agent.sweeps.prepare import (
    SweepRequest,
    check_commands,
    deciding,
    new_entry,
    prepare_sweep,
    prepared_command,
    prepared_run,
)
from logbook_agent.sweeps.recipes.expand import PlannedRun, describe
from logbook_agent.sweeps.result import SweepResult, row_problems, write_csv
from logbook_agent.sweeps.series import taken_up
from logbook_agent.sweeps.tally import Best, Tally, tally_of

# The view is made anew this often while a sweep goes on, not after each of its many runs.
_REFRESH_S = 10.0


def sweep(workspace: Workspace, request: SweepRequest, display: ProgressDisplay) -> SweepResult:
    """Carry out the plan, or what is left of it."""
    known = workspace.book(request.resume).entry_names()
    prepared = prepare_sweep(workspace, request, needs_logbook=True)
    book, chosen = prepared.book, prepared.chosen
    if book is None:  # `needs_logbook` has raised
        raise AssertionError("no logbook")
    if prepared.entry is not None and prepared.entry.recipe is not None:
        request = dataclasses.replace(request, on=prepared.entry.recipe.on)
    check_commands(workspace, request, chosen)
    workspace.warnings += [f"{v.rule}: {v.message}; {v.reason}" for v in prepared.found]
    with StopRequests() as stops:
        entry = prepared.entry or _found_or_new(workspace, book, request, chosen, known)
        with taken_up(workspace, book, entry):
            return _Sweep(workspace, book, entry, chosen, request, display, stops).carry_out()


def _found_or_new(
    workspace: Workspace, book: Book, request: SweepRequest, chosen: Chosen, known: Collection[str]
) -> Entry:
    """The entry of a sweep that was not there a moment ago: of two that begin at once, one makes it for both."""
    with book.lock():
        if not request.new and set(book.entry_names()) != set(known):
            found = prepare_sweep(workspace, request, needs_logbook=True).entry
            if found is not None:
                return found
        return new_entry(workspace, book, request, chosen)


class _Sweep:
    """The loop over a plan, with what it knows so far."""

    def __init__(
        self,
        workspace: Workspace,
        book: Book,
        entry: Entry,
        chosen: Chosen,
        request: SweepRequest,
        display: ProgressDisplay,
        stops: StopRequests,
    ) -> None:
        self._workspace, self._book, self._entry, self._stops = workspace, book, entry, stops
        self._plan, self._recipe = chosen.plan, chosen.recipe
        self._on, self._retry, self._display = request.on, request.retry_failed, display
        self._tally = Tally(chosen.plan, deciding(chosen, book))
        self._durations: list[float] = []
        self._ran = 0
        self._interrupted = False
        self._refreshed = time.monotonic()

    def carry_out(self) -> SweepResult:
        """Setup, every run that is missing, confirmation, teardown; then rows are held against the plan."""
        made = self._made()
        if self._retry:
            made = {key: runs for key, runs in made.items() if not any(map(state.has_failed, runs))}
        todo = state.missing(self._workspace, self._plan, made)
        total = len(self._plan)
        if len(todo) < total:
            self._display.progress(f"{self._entry.id}: {total - len(todo)} of {total} runs are already done")
        self._tally = tally_of(self._workspace, self._plan, self._tally.metric, made)
        problems: list[str] = []
        runs = self._book.runs(self._entry.id)
        best = self._tally.best()
        measures = bool(todo) or (best is not None and len(self._fresh(best)) < self._recipe.confirm)
        if measures or not state.is_torn_down(runs, self._recipe):
            try:
                problems += self._around(todo, setup=measures)
            finally:
                refresh(self._workspace, self._book, [self._entry.id])
        return self._result(problems)

    def _around(self, todo: Sequence[PlannedRun], *, setup: bool) -> list[str]:
        """The runs between setup and teardown; the latter comes whatever happened."""
        try:
            if not self._commands(SETUP, self._recipe.setup if setup else ()):
                failed = f"{SETUP} failed, so nothing was measured: logbook show {self._entry.id}"
                return [] if self._interrupted else [failed]
            for done, planned in enumerate(todo, start=1):
                if self._is_stopped():
                    return []
                self._run(planned, left=len(todo) - done)
            self._confirm()
        finally:
            self._stops.take()
            torn_down = self._commands(TEARDOWN, self._recipe.teardown)
        return [] if torn_down else [f"{TEARDOWN} failed: logbook show {self._entry.id}"]

    def _is_stopped(self) -> bool:
        """Whether a request to stop came, before whatever else would be begun; the teardown still comes."""
        self._interrupted = self._interrupted or self._stops.count > 0
        return self._interrupted

    def _run(self, planned: PlannedRun, *, left: int) -> None:
        run = self._execute(planned, planned.case.label, planned.repeat if self._recipe.repeats > 1 else None)
        if not state.is_made(run):
            return
        self._ran += 1
        self._durations += [run.duration_s] if run.duration_s is not None else []
        self._tally.add(planned.case.key, run)
        self._display.progress(self._line(planned, run, left))
        if time.monotonic() - self._refreshed > _REFRESH_S:
            refresh(self._workspace, self._book, [self._entry.id])
            self._refreshed = time.monotonic()

    def _confirm(self) -> None:
        """Fresh runs of the best case: that it came out best may have been luck."""
        best = self._tally.best()
        if best is None:
            return
        for number in range(len(self._fresh(best)) + 1, self._recipe.confirm + 1):
            if self._is_stopped():
                return
            planned = self._plan.run(self._plan.by_key[best.key], repeat=number, place=0)
            run = self._execute(planned, CONFIRMATION, None)
            if not state.is_made(run):
                return
            self._ran += 1
            self._display.progress(f"confirmation {best.label}: {self._said(run)}")

    def _fresh(self, best: Best) -> list[Run]:
        case, _ = state.run_key(self._workspace, self._plan.config(self._plan.by_key[best.key]), 1)
        return state.confirmations(self._book.runs(self._entry.id), case)

    def _execute(self, planned: PlannedRun, label: str | None, repeat: int | None) -> Run:
        command = prepared_run(self._workspace, planned, self._plan.recipe.command.shell, label, self._on)
        execution = Execution(
            command=command,
            entry_id=self._entry.id,
            repeat=repeat,
            timeout_s=self._recipe.timeout_s,
            config=dict(planned.config),
        )
        return self._kept(self._once(execution))

    def _once(self, execution: Execution) -> Run:
        run = run_once(self._workspace, self._book, execution, self._display, self._stops)
        self._interrupted = self._interrupted or not state.is_made(run)
        return run

    def _kept(self, run: Run) -> Run:
        """The run with a row in any case."""
        kept = self._workspace.redacted_run(state.with_failed_row(run, run.config)) if not run.rows else run
        if kept.rows != run.rows:
            self._book.write_run(kept)
        return kept

    def _commands(self, label: str, commands: Sequence[PlannedCommand]) -> bool:
        """Setup or teardown, each command a run of the entry; False as soon as one of setup fails."""
        good = True
        for command in commands:
            if label == SETUP and self._is_stopped():
                return False
            name = f"{label}: {command.label}" if command.label else label
            ready = prepared_command(self._workspace, command, name)
            self._display.progress(name)
            run = self._once(Execution(command=ready, entry_id=self._entry.id, config={}))
            good = good and run.exit is not None and exit_status(run.exit) == 0
            if not good and label == SETUP:
                return False
        return good

    def _made(self) -> dict[state.RunKey, list[Run]]:
        """The runs there are, each with a row: the tool may have died between a run and the row of its failure."""
        for runs in state.made_runs(self._book.runs(self._entry.id)).values():
            for run in runs:
                self._kept(run)
        return state.made_runs(self._book.runs(self._entry.id))

    def _line(self, planned: PlannedRun, run: Run, left: int) -> str:
        best = self._tally.best()
        repeat = f" repeat {planned.repeat}" if self._recipe.repeats > 1 else ""
        parts = [f"[{planned.place}/{len(self._plan)}] {describe(self._plan, planned.case)}{repeat}: {self._said(run)}"]
        if best is not None and self._recipe.confirm:
            parts.append(f"best so far {best.value:.6g} ({best.label})")
        if left and self._durations:
            parts.append(f"about {length(left * median(self._durations))} left")
        return "; ".join(parts)

    def _said(self, run: Run) -> str:
        failed = next((row.failed for row in run.rows if row.failed is not None), None)
        if failed is not None:
            return f"failed: {failed.reason}"
        if run.exit is not None and state.has_failed(run):
            return f"failed: {state.why_failed(run.exit)}"
        found = self._tally.measured(run)
        metric = self._tally.metric
        if metric is None or not found:
            return f"{len(run.rows)} row{'' if len(run.rows) == 1 else 's'}"
        value, unit = found[0]
        return f"{metric.name} {value:.6g}" + (f" {unit}" if unit else "")

    def _result(self, problems: Sequence[str]) -> SweepResult:
        made = self._made()
        rows, wrong = row_problems(self._workspace, self._plan, made)
        if self._interrupted or problems:
            left = len(state.missing(self._workspace, self._plan, made))
            what = f"{left} of {len(self._plan)} runs are left" if left else "only the steps after the runs are left"
            wrong = (
                [f"{what}: logbook sweep --resume {self._entry.id}"] if left or not (problems or self._retry) else []
            )
        csv = write_csv(self._book, self._entry.id, made)
        wrong += self._tally.problems()
        best = self._told(self._tally.best(), is_whole=rows == len(self._plan)) if self._recipe.confirm else None
        if best is not None and len(best.confirmed) < self._recipe.confirm and not self._interrupted:
            wrong.append(f"{best.label} was best, but no fresh run confirmed it")
        return SweepResult(
            book=self._book,
            entry=self._entry,
            planned=len(self._plan),
            rows=rows,
            failed=sum(state.has_failed(run) for runs in made.values() for run in runs),
            ran=self._ran,
            best=best,
            csv=csv,
            log=write_log(self._book, self._entry.id, self._plan.varied),
            problems=(*problems, *wrong),
            interrupted=self._interrupted,
        )

    def _told(self, best: Best | None, *, is_whole: bool) -> Best | None:
        """The best case with its fresh runs, and of a whole sweep whether it is a winner."""
        if best is None:
            return None
        fresh = [found for run in self._fresh(best) for found in self._tally.measured(run)]
        best = dataclasses.replace(best, confirmed=tuple(value for value, unit in fresh if unit == best.unit))
        if not is_whole:
            return best
        again = made_again(self._book.runs(self._entry.id))
        return dataclasses.replace(best, **self._tally.judged(best, again=again))


def length(seconds: float) -> str:
    """A length of time for people."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
