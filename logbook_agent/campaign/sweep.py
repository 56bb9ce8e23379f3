"""`logbook sweep`: run the cases of a plan in one entry, then compare the best; resume where it was stopped."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from logbook_agent.campaign.ab_sides import sides_of_runs
from logbook_agent.campaign.pair_judge import Stop
from logbook_agent.campaign.pairs import Pairs
from logbook_agent.campaign.recipes.expand import PlannedRun, SweepPlan, describe_run
from logbook_agent.campaign.series import RunSeries, begun
from logbook_agent.campaign.sides import AbCase
from logbook_agent.campaign.sweep_entry import (
    SweepResult,
    comparing,
    measured_text,
    new_entry,
    row_problems,
    sides_of,
    state_comparison,
    with_failed_row,
    write_csv,
)
from logbook_agent.campaign.sweep_progress import EarlierSweep, Progress, Tally
from logbook_agent.campaign.sweep_request import (
    SweepRequest,
    check_commands,
    onward,
    prepare_sweep,
    prepared_run,
    request_of,
    requested,
)
from logbook_agent.findings.advice import sweep_more, unreported
from logbook_agent.findings.progress import remaining_s
from logbook_agent.findings.read import read
from logbook_agent.model.entry import Entry, PlannedCommand
from logbook_agent.model.record import COMPARISON, SETUP, TEARDOWN
from logbook_agent.model.run import Run
from logbook_agent.model.series_progress import SeriesProgress
from logbook_agent.running.executors.table import executor_named_by
from logbook_agent.running.order import Display, RunPlan, check_budget
from logbook_agent.running.prepare import prepare
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.times import length


def sweep(
    workspace: Workspace, request: SweepRequest, display: Display, *, tell: Callable[[str], None] | None = None
) -> SweepResult:
    """Run the plan, or what is left of it. What is wrong with the plan, and does not keep it from being run, is passed
    to `tell` before anything runs, or becomes a warning."""
    known = workspace.book(request.entry_id).names.ids
    prepared = prepare_sweep(workspace, request, needs_logbook=True)
    request, progress = prepared.request, prepared.progress
    workspace, book, plan = progress.workspace, progress.book, progress.plan
    if book is None:  # `needs_logbook` has raised
        raise AssertionError("no logbook")
    commands = check_commands(workspace, request, plan)
    for warning in prepared.warnings:
        (tell or workspace.warnings.append)(warning)
    # Who named the entry sees what it starts.
    for command in commands if request.entry_id is not None and progress.left else ():
        display.progress(f"{request.entry_id}: {command.shown()}")

    def found() -> Entry:
        return progress.entry or _found_or_new(workspace, book, request, plan, known)

    again = onward(workspace, request, book, "--new")
    with begun(workspace, book, found, display, another=again) as series:
        return _Sweep(series, plan, request).carry_out()


def _found_or_new(
    workspace: Workspace, book: Book, request: SweepRequest, plan: SweepPlan, known: Collection[str]
) -> Entry:
    """The entry of a sweep that was not there a moment ago: of two that begin at once, one makes it for both."""
    with book.lock():
        if not request.new and set(book.names.ids) != set(known):
            found = prepare_sweep(workspace, request, needs_logbook=True).progress.entry
            if found is not None:
                return found
        check_budget(workspace, book)
        return new_entry(workspace, book, request, plan)


class _Sweep:
    """The runs of a plan in one entry: setup, cases, the comparison of the best case, teardown."""

    def __init__(self, series: RunSeries, plan: SweepPlan, request: SweepRequest) -> None:
        self._series, self._workspace, self._book = series, series.workspace, series.book
        self._plan, self._recipe = plan, plan.recipe
        self._request = request
        self._run = dataclasses.replace(request_of(self._recipe), entry_id=series.entry.id, keep=request.keep)
        # Why the comparison of the best case made no further pair, and what is wrong.
        self._stopped, self._problems = "", list[str]()
        self._took_s = list[float]()

    def carry_out(self) -> SweepResult:
        """Make every run that is missing, and check the rows against the plan."""
        # The tool may have died between a run and the row of its failure.
        for runs in self._progress().made.values():
            for run in runs:
                self._kept(run)
        progress = dataclasses.replace(self._progress(), retries=self._request.retry_failed)
        done, entry_id = len(self._plan) - len(progress.todo), self._series.entry.id
        if done:
            self._series.display.progress(f"{entry_id}: {done} of {len(self._plan)} runs are already done")
        if progress.is_finished:
            return self._result()
        check_budget(self._workspace, self._book)
        try:
            bad = self._series.own(self._own(SETUP, self._recipe.setup if progress.left else ()))
            if not self._series.is_stopped():
                if bad is None:
                    self._measure(progress)
                else:
                    self._problems.append(f"{SETUP} failed, so nothing was measured: logbook show {entry_id}")
        finally:
            # It comes whatever happened.
            if self._series.own(self._own(TEARDOWN, self._recipe.teardown)) is not None:
                self._problems.append(f"{TEARDOWN} failed: logbook show {entry_id}")
            self._series.release()
        return self._result()

    def _progress(self) -> Progress:
        """What there is of the plan now."""
        entry = self._series.entry
        begun = EarlierSweep(entry=entry, runs=self._book.runs(entry.id))
        return Progress(workspace=self._workspace, book=self._book, plan=self._plan, begun=begun)

    def _measure(self, progress: Progress) -> None:
        """The runs that are missing, and after a plan that explores the comparison of its best case with the base."""
        tally, todo = progress.tally, progress.todo
        left = len(todo)
        self._series.display.progress("", self._so_far(tally, left))
        for planned, run in self._planned_runs(todo):
            self._took_s += [run.duration_s] if run.duration_s is not None else []
            [kept] = progress.judge([self._kept(run)])
            tally.add(planned.case, kept)
            left -= 1
            self._series.display.progress(self._line(tally, planned, kept, left), self._so_far(tally, left))
        progress = self._progress()
        # A case that was not measured may be the best.
        if not self._series.is_cut_off and not progress.todo and progress.to_compare:
            self._compare(progress)

    def _planned_runs(self, todo: Sequence[PlannedRun]) -> Iterator[tuple[PlannedRun, Run]]:
        """Runs of the plan as they end. One after another, the sides of a pair are a unit of their own."""
        units = [todo] if self._request.parallel > 1 else [list(unit) for _, unit in itertools.groupby(todo, self._pin)]
        orders = (map(self._order, unit) for unit in units)
        together = executor_named_by(self._workspace, self._request.on) is not None and self._plan.is_comparison
        for place, run in self._series.each(orders, together=together, at_most=self._request.parallel):
            yield todo[place], run

    def _pin(self, planned: PlannedRun) -> str:
        """What is compared is made on one machine: the sides of a pair, or each case once."""
        part = self._plan.part(planned.case, planned.repeat)
        return f"repeat {planned.repeat}" if part is None else f"pair {part.pair} {part.case}"

    def _compare(self, progress: Progress) -> None:
        """Pairs of the best case and its base, until they are settled."""
        if progress.contenders is None:
            return
        other, base = progress.contenders
        before = self._series.entry.comparison
        planned = [self._plan.run(case, repeat=1, place=0) for case in (base, other)]
        axis, shared = sides_of(self._plan, *planned)
        request = comparing(self._recipe, axis)
        entry = self._series.entry = state_comparison(self._workspace, self._book, self._series.entry, request, axis)
        self._series.display.progress(
            " ".join(filter(None, ("comparing", axis.values[1], "with", axis.values[0], shared)))
        )
        # A larger budget than before asks for more pairs.
        asked = before is not None and self._recipe.confirm > before.design.budget_pairs
        request = dataclasses.replace(request, run=self._run, max_pairs=progress.to_compare // 2 if asked else None)
        asked_of = (requested(self._recipe, one, self._request.on, COMPARISON) for one in planned)
        runs = [dataclasses.replace(run, entry_id=entry.id) for run in asked_of]
        recorded = next((run.code for run in progress.runs if run.label == COMPARISON and run.part is not None), None)
        afresh = onward(self._workspace, self._request, self._book, "--new")
        is_built = bool(self._recipe.setup)
        with sides_of_runs(self._series, runs, recorded, afresh, is_built=is_built) as sides:
            folder = sides.commands[0].cwd
            if folder != self._workspace.cwd and not self._is_prepared(folder):
                return
            self._series.guard = sides.guard
            result = Pairs(
                self._series,
                request,
                axis,
                [AbCase(commands=sides.commands, sides=tuple(one.config for one in planned), name=shared)],
            ).carry_out()
            self._series.guard = None
        if result.stop in (Stop.FAILED, Stop.NOT_COMPARABLE):
            self._problems.append(f"the comparison stopped: {result.why}")
        else:
            self._stopped = result.why

    def _is_prepared(self, folder: Path) -> bool:
        """Whether the setup passed in the folder of a checkout; what it holds for all runs is there already."""
        commands = [command for command in self._recipe.setup if command.until is None]
        bad = self._series.own(self._own(SETUP, commands, folder))
        if bad is not None:
            self._problems.append(f"{SETUP} failed in a checkout: logbook show {self._series.entry.id}")
        return bad is None

    def _order(self, planned: PlannedRun) -> RunPlan:
        """A run of the plan."""
        part = self._plan.part(planned.case, planned.repeat)
        command = prepared_run(self._workspace, self._plan, planned, self._request.on, planned.case.label)
        return dataclasses.replace(
            self._run.plan(command, self._series.entry.id),
            repeat=planned.repeat if part is not None or self._recipe.repeats > 1 else None,
            part=part,
            config=dict(planned.config),
            pin=self._pin(planned),
        )

    def _kept(self, run: Run) -> Run:
        """The run with a row in any case."""
        kept = with_failed_row(run)
        return run if kept is run else self._book.write_run(kept)

    def _own(
        self, label: str, commands: Sequence[PlannedCommand], folder: Path | None = None
    ) -> Iterator[tuple[str, RunPlan]]:
        """Setup or teardown, each command a run of the entry, with a name to be shown."""
        cwd = str(folder) if folder is not None else None
        on = executor_named_by(self._workspace, self._request.on)
        for command in commands:
            name = f"{label}: {command.label}" if command.label else label
            ready = prepare(self._workspace, command.argv, cwd=cwd, on=on, shell=command.shell, label=name)
            order = RunPlan(command=ready, entry_id=self._series.entry.id, config={}, until=command.until)
            yield name, dataclasses.replace(order, always=label == TEARDOWN)

    # -- what is said of it ----------------------------------------------------------------------------

    def _line(self, tally: Tally, planned: PlannedRun, run: Run, left: int) -> str:
        """`[2/8] size=1 mode=new: tflops 10 TF/s; best so far 10 (size=1 mode=new); about 6 s left`."""
        parts = [
            f"[{planned.place}/{len(self._plan)}] {describe_run(self._plan, planned)}: {measured_text(tally, run)}"
        ]
        series = self._so_far(tally, left)
        parts += [series.note] if series.note else []
        parts += [f"about {length(series.left_s)} left"] if left and series.left_s is not None else []
        return "; ".join(parts)

    def _so_far(self, tally: Tally, left: int) -> SeriesProgress:
        best, total = tally.best() if self._plan.confirm else None, len(self._plan)
        return SeriesProgress(
            made=total - left,
            total=total,
            what="runs",
            left_s=remaining_s(left, sum(self._took_s) / len(self._took_s), self._request.parallel)
            if self._took_s
            else None,
            note=best.text if best is not None else "",
        )

    def _result(self) -> SweepResult:
        progress, total, series = self._progress(), len(self._plan), self._series
        rows, wrong = row_problems(progress)
        left, entry_id = len(progress.todo), series.entry.id
        if left or series.is_cut_off:
            said = left or not (self._problems or self._request.retry_failed)
            wrong = [series.rest(total - left, total, sweep_more(entry_id))] if said else []
        record = self._book.record(entry_id)
        wrong += filter(None, [unreported(self._book.topic, record)])
        return SweepResult(
            series=series,
            progress=progress,
            rows=rows,
            answer=read(self._workspace, self._book).comparisons.answer_with(record),
            stopped=self._stopped,
            csv=write_csv(self._book, entry_id, (run for runs in progress.made.values() for run in runs)),
            problems=(*self._problems, *wrong, *progress.tally.problems()),
        )
