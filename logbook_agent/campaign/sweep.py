"""`logbook sweep`: run the cases of a plan in one entry, then compare the best; resume where it was stopped."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import structs

from logbook_agent.campaign import sweep_entry
from logbook_agent.campaign.ab_sides import sides_of_runs
from logbook_agent.campaign.pair_judge import Stop
from logbook_agent.campaign.pairs import Pairs
from logbook_agent.campaign.recipes.expand import PlannedRun, SweepPlan, describe_run
from logbook_agent.campaign.run_request import RunRequest, own_plans, prepared
from logbook_agent.campaign.series import RunSeries, begun
from logbook_agent.campaign.sweep_progress import Progress, Tally
from logbook_agent.campaign.sweep_request import (
    SweepRequest,
    check_commands,
    onward,
    prepare_sweep,
    requested,
)
from logbook_agent.findings.advice import sweep_more, unreported
from logbook_agent.findings.progress import remaining_s
from logbook_agent.findings.read import read
from logbook_agent.model.entry import Entry, PlannedCommand
from logbook_agent.model.record import COMPARISON, SETUP, TEARDOWN, SeriesProgress, plan_runs
from logbook_agent.model.run import Run
from logbook_agent.running.executors.table import executor_named_by
from logbook_agent.running.order import Display, RunPlan, check_budget
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import length


def sweep(
    workspace: Workspace, request: SweepRequest, display: Display, *, tell: Callable[[str], None] | None = None
) -> sweep_entry.SweepResult:
    """Run the plan, or what is left of it. What is wrong with the plan, and does not keep it from being run, is passed
    to `tell` before anything runs, or becomes a warning."""
    known = set(workspace.book(request.entry_id).names.ids)
    checked = prepare_sweep(workspace, request, needs_logbook=True)
    request, progress = checked.request, checked.progress
    workspace, book, plan = progress.workspace, progress.book, progress.plan
    if book is None:  # `needs_logbook` has raised
        raise AssertionError("no logbook")
    commands = check_commands(workspace, request, plan)
    for warning in checked.warnings:
        (tell or workspace.warnings.append)(warning)
    # Who named the entry sees what it starts.
    for command in commands if request.entry_id is not None and progress.left else ():
        display.progress(f"{request.entry_id}: {command.shown()}")

    def found() -> Entry:
        # Of two that begin at once, one makes it for both.
        with book.lock():
            is_alone = request.new or set(book.names.ids) == known
            later = None if is_alone else prepare_sweep(workspace, request, needs_logbook=True).progress.entry
            return progress.entry or later or sweep_entry.new_entry(workspace, book, request, plan)

    again = onward(workspace, request, book, "--new")
    with begun(workspace, book, found, display, another=again) as series:
        return _Sweep(series, plan, request).carry_out()


class _Sweep:
    """The runs of a plan in one entry: setup, cases, the comparison of the best case, teardown."""

    def __init__(self, series: RunSeries, plan: SweepPlan, request: SweepRequest) -> None:
        self._series, self._workspace, self._book = series, series.workspace, series.book
        self._plan, self._recipe, self._request = plan, plan.recipe, request
        # Executors make the runs as units, and those of setup.
        self._executor = executor_named_by(series.workspace, request.on)
        # Why the comparison of the best case made no further pair, and what is wrong.
        self._stopped, self._problems = "", list[str]()
        self._took_s = list[float]()

    def carry_out(self) -> sweep_entry.SweepResult:
        """Make every run that is missing, and check the rows against the plan."""
        # The tool may have died between a run and the row of its failure.
        for run in plan_runs(self._book.runs(self._series.entry.id)):
            self._kept(run)
        progress = structs.replace(self._progress(), retries=self._request.retry_failed)
        done, entry_id = len(self._plan) - len(progress.todo), self._series.entry.id
        if done:
            self._series.display.progress(f"{entry_id}: {done} of {len(self._plan)} runs are already done")
        if progress.is_finished:
            return self._result()
        check_budget(self._workspace, self._book)
        try:
            if self._own(SETUP, self._recipe.setup if progress.left else (), "failed, so nothing was measured"):
                self._measure(progress)
        finally:
            # It comes whatever happened.
            self._own(TEARDOWN, self._recipe.teardown, "failed")
            self._series.release()
        return self._result()

    def _progress(self) -> Progress:
        """What there is of the plan now."""
        record = self._book.record(self._series.entry.id)
        return Progress(workspace=self._workspace, book=self._book, plan=self._plan, record=record)

    def _own(self, label: str, commands: Sequence[PlannedCommand], failed: str, folder: Path | None = None) -> bool:
        """Make setup or teardown, each command a run of the entry, and say whether its runs can follow."""
        entry_id = self._series.entry.id
        run = RunRequest(cwd=str(folder) if folder is not None else None, on=self._executor)
        bad = self._series.own(own_plans(self._workspace, label, commands, run))
        is_stopped = self._series.is_stopped()
        if bad is not None and (label == TEARDOWN or not is_stopped):
            self._problems.append(f"{label} {failed}: logbook show {entry_id}")
        return bad is None and not is_stopped

    def _measure(self, progress: Progress) -> None:
        """The runs that are missing, and after a plan that explores the comparison of its best case with the base."""
        tally, todo, at_most = progress.tally, progress.todo, self._request.parallel
        # One after another, the sides of a pair are a unit of their own.
        units = [todo] if at_most > 1 else [list(unit) for _, unit in itertools.groupby(todo, self._unit)]
        together = self._executor is not None and self._plan.is_comparison
        self._show(tally, len(todo))
        runs = self._series.each(units, self._order, together=together, at_most=at_most)
        for made, (planned, run) in enumerate(runs, start=1):
            self._took_s += [run.duration_s] if run.duration_s is not None else []
            kept = progress.judge(self._kept(run))
            tally.add(planned.case, kept)
            name = f"[{planned.place}/{len(self._plan)}] {describe_run(self._plan, planned)}"
            self._show(tally, len(todo) - made, f"{name}: {sweep_entry.measured_text(tally, kept)}")
        progress = self._progress()
        # A case that was not measured may be the best.
        if not self._series.is_cut_off and not progress.todo and progress.to_compare:
            self._compare(progress)

    def _unit(self, planned: PlannedRun) -> str:
        """What is compared is made on one machine: the sides of a pair, or each case once."""
        part = self._plan.part(planned.case, planned.repeat)
        return f"repeat {planned.repeat}" if part is None else f"pair {part.pair} {part.case}"

    def _order(self, planned: PlannedRun) -> RunPlan:
        """A run of the plan."""
        part = self._plan.part(planned.case, planned.repeat)
        run = self._asked(planned, planned.case.label)
        command = prepared(self._workspace, run, is_built=bool(self._recipe.setup))
        repeat = planned.repeat if part is not None or self._recipe.repeats > 1 else None
        order = run.plan(command, self._series.entry.id)
        return structs.replace(order, repeat=repeat, part=part, unit=self._unit(planned))

    def _asked(self, planned: PlannedRun, label: str | None) -> RunRequest:
        """A run of the plan, as it is asked for in this entry."""
        run = requested(self._plan, planned, self._request.on, label)
        return structs.replace(run, entry_id=self._series.entry.id, keep=self._request.keep)

    def _compare(self, progress: Progress) -> None:
        """Pairs of the best case and its base, until they are settled."""
        if progress.contenders is None:
            return
        planned = [self._plan.run(case, repeat=1, place=0) for case in reversed(progress.contenders)]
        axis, shared = sweep_entry.sides_of(self._plan, *planned)
        runs = [self._asked(one, COMPARISON) for one in planned]
        request = structs.replace(sweep_entry.comparing(self._recipe), run=runs[0])
        before = self._series.entry.comparison
        self._series.entry = sweep_entry.state_comparison(self._series, request, axis)
        self._series.display.progress(f"comparing {axis.values[1]} with {axis.values[0]} {shared}".rstrip())
        # A larger budget than before asks for more pairs.
        asked = before is not None and self._recipe.confirm > before.design.budget_pairs
        request = structs.replace(request, max_pairs=progress.to_compare // 2 if asked else None)
        recorded = next((run.code for run in progress.runs if run.label == COMPARISON and run.part is not None), None)
        afresh = onward(self._workspace, self._request, self._book, "--new")
        is_built = bool(self._recipe.setup)
        with sides_of_runs(self._series, runs, recorded, afresh, is_built=is_built) as sides:
            folder = sides.commands[0].cwd
            # A checkout; what the setup holds for all runs is there already.
            setup = [command for command in self._recipe.setup if command.until is None]
            if folder != self._workspace.cwd and not self._own(SETUP, setup, "failed in a checkout", folder):
                return
            self._series.guard = sides.guard
            case = structs.replace(sides.cases[0], name=shared)
            result = Pairs(self._series, request, axis, [case]).carry_out()
            self._series.guard = None
        if result.stop in (Stop.FAILED, Stop.NOT_COMPARABLE):
            self._problems.append(f"the comparison stopped: {result.why}")
        else:
            self._stopped = result.why

    def _kept(self, run: Run) -> Run:
        """The run with a row in any case."""
        kept = sweep_entry.with_failed_row(run)
        return run if kept is run else self._book.write_run(kept)

    # -- what is said of it ----------------------------------------------------------------------------

    def _show(self, tally: Tally, left: int, line: str = "") -> None:
        """Show how far the plan is, after a line: `[2/8] size=1 mode=new: tflops 10 TF/s; best so far 10 (size=1
        mode=new); about 6 s left`."""
        best, took_s = tally.best() if self._plan.confirm else None, self._took_s
        left_s = remaining_s(left, sum(took_s) / len(took_s), self._request.parallel) if took_s else None
        note, total = best.text if best is not None else "", len(self._plan)
        ends = [note, f"about {length(left_s)} left" if left and left_s is not None else ""]
        self._series.display.progress(
            "; ".join(filter(None, [line, *ends])) if line else "",
            SeriesProgress(made=total - left, total=total, what="runs", left_s=left_s, note=note),
        )

    def _result(self) -> sweep_entry.SweepResult:
        progress, total, series = self._progress(), len(self._plan), self._series
        rows, wrong = sweep_entry.row_problems(progress)
        left, entry_id = len(progress.todo), series.entry.id
        if left or series.is_cut_off:
            said = left or not (self._problems or self._request.retry_failed)
            wrong = [series.rest(total - left, total, sweep_more(entry_id))] if said else []
        record = self._book.record(entry_id)
        wrong += filter(None, [unreported(self._book, record)])
        return sweep_entry.SweepResult(
            series=series,
            progress=progress,
            rows=rows,
            answer=read(self._workspace, self._book).comparisons.answer_with(record),
            stopped=self._stopped,
            csv=sweep_entry.write_csv(self._book, entry_id, (run for runs in progress.made.values() for run in runs)),
            problems=(*self._problems, *wrong, *progress.tally.problems()),
        )
