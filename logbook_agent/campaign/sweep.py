"""`logbook sweep`: run the cases of a plan in one entry, then compare the best; resume where it was stopped."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterator, Sequence

from logbook_agent.campaign.ab_rounds import AbCase, Rounds, Stop
from logbook_agent.campaign.driver import Driver, driving
from logbook_agent.campaign.recipe_files import Chosen
from logbook_agent.campaign.recipes.expand import PlannedRun, describe_run
from logbook_agent.campaign.result import SweepResult, row_problems, write_csv, write_log
from logbook_agent.campaign.state import Progress, with_failed_row
from logbook_agent.campaign.sweep_entry import comparing, new_entry, sides_of, state_comparison
from logbook_agent.campaign.sweep_request import (
    SweepRequest,
    check_commands,
    onward,
    prepare_sweep,
    prepared_run,
    progress_of,
    request_of,
)
from logbook_agent.campaign.tally import Tally
from logbook_agent.campaign.trees import CodeGuard
from logbook_agent.findings.advice import sweep_more
from logbook_agent.findings.attempts import how_it_failed
from logbook_agent.findings.progress import remaining_s
from logbook_agent.findings.read import read
from logbook_agent.model.entry import Entry, PlannedCommand
from logbook_agent.model.gates import judged
from logbook_agent.model.record import (
    COMPARISON,
    SETUP,
    TEARDOWN,
    has_failed,
    is_own,
)
from logbook_agent.model.run import Run
from logbook_agent.model.series_progress import SeriesProgress
from logbook_agent.model.stats import median
from logbook_agent.running.executors.table import executor_named_by
from logbook_agent.running.order import Display, RunPlan
from logbook_agent.running.prepare import prepare
from logbook_agent.running.run_budget import check_budget
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.markdown import cut_line
from logbook_agent.text.phrases import counted
from logbook_agent.text.redaction.plain import redacted
from logbook_agent.text.times import length

# Of what came out of a run, in the line that follows it.
_SAID_CHARS = 160


def sweep(
    workspace: Workspace, request: SweepRequest, display: Display, *, tell: Callable[[str], None] | None = None
) -> SweepResult:
    """Run the plan, or what is left of it. Habits that the plan breaks are passed to `tell` before anything runs, or
    become warnings.
    """
    known = workspace.book(request.entry_id).names.ids
    prepared = prepare_sweep(workspace, request, needs_logbook=True)
    workspace, book, chosen, request = prepared.workspace, prepared.book, prepared.chosen, prepared.request
    if book is None:  # `needs_logbook` has raised
        raise AssertionError("no logbook")
    commands = check_commands(workspace, request, chosen)
    for v in prepared.found:
        (tell or workspace.warnings.append)(v.text)
    # Who named the entry sees what it starts.
    for command in commands if request.entry_id is not None and prepared.left else ():
        display.progress(f"{request.entry_id}: {command.shown()}")

    def found() -> Entry:
        return prepared.entry or _found_or_new(workspace, book, request, chosen, known)

    again = onward(workspace, request, book, "--new")
    with driving(workspace, book, found, display, another=again) as made:
        return _Sweep(made, chosen, request).carry_out()


def _found_or_new(
    workspace: Workspace, book: Book, request: SweepRequest, chosen: Chosen, known: Collection[str]
) -> Entry:
    """The entry of a sweep that was not there a moment ago: of two that begin at once, one makes it for both."""
    with book.lock():
        if not request.new and set(book.names.ids) != set(known):
            found = prepare_sweep(workspace, request, needs_logbook=True).entry
            if found is not None:
                return found
        check_budget(workspace, book)
        return new_entry(workspace, book, request, chosen)


class _Sweep:
    """The runs of a plan in one entry: setup, cases, the comparison of the best case, teardown."""

    def __init__(self, made: Driver, chosen: Chosen, request: SweepRequest) -> None:
        self._driver, self._workspace, self._book, self._entry = made, made.workspace, made.book, made.entry
        self._chosen, self._plan, self._recipe = chosen, chosen.plan, chosen.recipe
        self._on, self._retry, self._parallel = request.on, request.retry_failed, request.parallel
        self._run = dataclasses.replace(request_of(self._recipe), entry_id=made.entry.id, keep=request.keep)
        # Why the comparison of the best case made no further pair.
        self._stopped = ""
        self._failed: list[str] = []

    def carry_out(self) -> SweepResult:
        """Make every run that is missing, and check the rows against the plan."""
        # The tool may have died between a run and the row of its failure.
        for runs in self._progress().made.values():
            for run in runs:
                self._kept(run)
        progress = dataclasses.replace(self._progress(), retries=self._retry)
        done, total = len(self._plan) - len(progress.todo), len(self._plan)
        if done:
            self._driver.display.progress(f"{self._entry.id}: {done} of {total} runs are already done")
        if progress.is_finished:
            return self._result([])
        check_budget(self._workspace, self._book)
        return self._result(self._around(progress))

    def _progress(self) -> Progress:
        """What there is of the plan now."""
        return progress_of(self._workspace, self._chosen, self._book, self._entry, self._book.runs(self._entry.id))

    def _around(self, progress: Progress) -> list[str]:
        """The runs between setup and teardown; the latter comes whatever happened."""
        problems = []
        try:
            bad = self._driver.own(self._own(SETUP, self._recipe.setup if progress.left else ()))
            if bad is None and not self._driver.is_stopped():
                self._measure(progress)
            elif not self._driver.is_stopped():
                problems.append(f"{SETUP} failed, so nothing was measured: logbook show {self._entry.id}")
        finally:
            if self._driver.own(self._own(TEARDOWN, self._recipe.teardown)) is not None:
                problems.append(f"{TEARDOWN} failed: logbook show {self._entry.id}")
            self._driver.release()
        return problems

    def _measure(self, progress: Progress) -> None:
        """The runs that are missing, and after a plan that explores the comparison of its best case with the base."""
        tally, todo = progress.tally, progress.todo
        left = len(todo)
        self._driver.display.progress("", self._so_far(tally, left))
        for place, run in self._driver.each(map(self._order, todo), at_most=self._parallel):
            planned, kept = todo[place], self._kept(run)
            [kept] = judged([kept], progress.gates)
            tally.add(planned.case.key, kept)
            left -= 1
            self._driver.display.progress(self._line(tally, planned, kept, left), self._so_far(tally, left))
        progress = self._progress()
        # A case that was not measured may be the best.
        if not self._driver.is_cut_off and not progress.todo and progress.to_compare:
            self._compare(progress)

    def _compare(self, progress: Progress) -> None:
        """Pairs of the best case and its base, until they are settled."""
        contenders = progress.tally.contenders(progress.baseline)
        if contenders is None:
            return
        other, base = contenders
        before = self._entry.comparison
        axis, shared = sides_of(self._plan, base, other)
        if len({redacted(value, self._workspace.redactor) for value in axis.values}) < 2:
            self._stopped = "both cases read the same once secrets are hidden, so they are not compared"
            return
        request = comparing(self._recipe, axis)
        entry = state_comparison(self._workspace, self._book, self._entry, request, axis)
        self._entry = self._driver.entry = entry
        self._driver.display.progress(
            " ".join(filter(None, ("comparing", axis.values[1], "with", axis.values[0], shared)))
        )
        planned = (self._plan.run(case, repeat=1, place=0) for case in (base, other))
        commands = [prepared_run(self._workspace, self._chosen, one, self._on, COMPARISON) for one in planned]
        case = AbCase(commands=tuple(commands), name=shared)
        # A larger budget than before asks for more pairs.
        asked = before is not None and self._recipe.confirm > before.design.budget_pairs
        pairs, again = progress.to_compare // 2 if asked else None, sweep_more(entry.id)
        request = dataclasses.replace(request, run=self._run, max_pairs=pairs, sweep=again)
        self._driver.around = CodeGuard(self._workspace, self._book.root, case.commands).measuring
        made = Rounds(self._driver, request, axis, [case]).carry_out()
        if made.stop in (Stop.FAILED, Stop.NOT_COMPARABLE):
            self._failed = [f"the comparison stopped: {made.why}"]
        else:
            self._stopped = made.why

    def _order(self, planned: PlannedRun) -> RunPlan:
        """A run of the plan."""
        part = self._plan.part(planned.case, planned.repeat)
        command = prepared_run(self._workspace, self._chosen, planned, self._on, planned.case.label)
        return dataclasses.replace(
            self._run.plan(command, self._entry.id),
            repeat=planned.repeat if part is not None or self._recipe.repeats > 1 else None,
            part=part,
            config=dict(planned.config),
            # What is compared is made on one machine: the runs of a round.
            pin=f"round {planned.repeat}",
        )

    def _kept(self, run: Run) -> Run:
        """The run with a row in any case."""
        kept = with_failed_row(run) if not run.rows else run
        return run if kept.rows == run.rows else self._book.write_run(kept)

    def _own(self, label: str, commands: Sequence[PlannedCommand]) -> Iterator[tuple[str, RunPlan]]:
        """Setup or teardown, each command a run of the entry, with a name to be shown."""
        on = executor_named_by(self._workspace, self._on)
        for command in commands:
            name = f"{label}: {command.label}" if command.label else label
            ready = prepare(self._workspace, command.argv, on=on, shell=command.shell, label=name)
            order = RunPlan(command=ready, entry_id=self._entry.id, config={}, until=command.until)
            yield name, dataclasses.replace(order, always=label == TEARDOWN)

    def _line(self, tally: Tally, planned: PlannedRun, run: Run, left: int) -> str:
        best = tally.best()
        parts = [f"[{planned.place}/{len(self._plan)}] {describe_run(self._plan, planned)}: {_said(tally, run)}"]
        if best is not None and self._has_best:
            parts.append(f"best so far {best.value:.6g} ({best.label})")
        left_s = self._left_s(left)
        if left and left_s is not None:
            parts.append(f"about {length(left_s)} left")
        return "; ".join(parts)

    def _left_s(self, left: int) -> float | None:
        """How long this many runs would take."""
        took_s = [r.duration_s for r in self._driver.runs if not is_own(r) and r.duration_s is not None]
        return remaining_s(left, median(took_s), self._parallel) if took_s else None

    def _so_far(self, tally: Tally, left: int) -> SeriesProgress:
        best, total = tally.best() if self._has_best else None, len(self._plan)
        note = f"best so far {best.value:.6g} ({best.label})" if best is not None else ""
        return SeriesProgress(made=total - left, total=total, what="runs", left_s=self._left_s(left), note=note)

    def _result(self, problems: Sequence[str]) -> SweepResult:
        progress, total, interrupted = self._progress(), len(self._plan), self._driver.is_interrupted
        rows, wrong = row_problems(progress)
        left = len(progress.todo)
        if left or interrupted or problems or self._driver.is_cut_off:
            again = sweep_more(self._entry.id)
            wrong = [self._driver.rest(total - left, total, again)] if left or not (problems or self._retry) else []
        wrong += progress.tally.problems()
        made = [run for runs in progress.made.values() for run in runs]
        answer = read(self._workspace, self._book).comparisons.answer_with(self._book.record(self._entry.id))
        return SweepResult(
            driver=self._driver,
            planned=total,
            left=left,
            rows=rows,
            failed=sum(map(has_failed, progress.judged)),
            best=progress.tally.best() if self._has_best and not left else None,
            answer=answer,
            stopped=self._stopped,
            csv=write_csv(self._book, self._entry.id, made),
            log=write_log(self._book, self._entry.id, self._plan.varied),
            problems=(*problems, *wrong, *self._failed),
        )

    @property
    def _has_best(self) -> bool:
        """Whether one case is to be chosen."""
        return bool(self._recipe.confirm) and not self._plan.is_comparison


def _said(tally: Tally, run: Run) -> str:
    """The result of a run, in a few words."""
    failed = next((row.failed for row in run.rows if row.failed is not None), None)
    if failed is not None:
        why = failed.message.strip().splitlines()[-1:]
        return cut_line(": ".join(["failed", failed.reason, *why]), _SAID_CHARS)
    if run.exit is not None and has_failed(run):
        return f"failed: {how_it_failed(run)}"
    found, metric = tally.measured(run), tally.metric
    if metric is None or not found:
        return counted(len(run.rows), "row")
    value, unit = found[0]
    return f"{metric.name} {value:.6g}" + (f" {unit}" if unit else "")
