"""How far the plan of a recipe is in an entry: which of its runs are made, what they measured, and what is left."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from logbook_agent.campaign.recipe_files import Chosen
from logbook_agent.campaign.recipes.expand import PlannedCase, PlannedRun, SweepPlan
from logbook_agent.campaign.sweep_tally import Tally
from logbook_agent.findings.measurements import baseline_cases
from logbook_agent.findings.read import read
from logbook_agent.model.entry import Entry, RecipeUse
from logbook_agent.model.errors import StoreError
from logbook_agent.model.gates import gates_of, judged
from logbook_agent.model.header import Metric
from logbook_agent.model.record import (
    COMPARISON,
    TEARDOWN,
    PlanKey,
    has_failed,
    is_made,
    is_own,
    made_of_plan,
)
from logbook_agent.model.run import Failure, Row, Run
from logbook_agent.model.values import row_key
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace

_NO_RESULT = (
    "the command printed no result: no RESULT, METRIC or RESULT_JSON line, no `NAME: value` of a declared metric"
)


def with_failed_row(run: Run) -> Run:
    """A run that ended without a row, with one that says why, so that its case is not lost."""
    ended = run.exit
    if run.rows or ended is None or ended.is_cut_off:
        return run
    tail = (run.output.error_tail or run.output.tail if run.output is not None else ())[-3:]
    reason = "stalled" if ended.stalled else "timeout" if ended.timeout else ended.signal or f"exit code {ended.code}"
    failure = Failure(reason=reason, message="\n".join(tail))
    if ended.code == 0 and not ended.timeout:
        failure = Failure(reason="no result", message=_NO_RESULT)
    return dataclasses.replace(run, rows=(Row(config=dict(run.config), failed=failure),))


# -- sweeps of a logbook -------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class EarlierSweep:
    """An entry that carries out a plan of a recipe."""

    entry: Entry
    runs: tuple[Run, ...]

    @cached_property
    def made(self) -> dict[PlanKey, list[Run]]:
        return made_of_plan(self.runs)

    @property
    def use(self) -> RecipeUse:
        if self.entry.recipe is None:
            raise AssertionError(f"{self.entry.id} is not a sweep")
        return self.entry.recipe

    @property
    def is_complete(self) -> bool:
        """Whether every run of the plan has been made; comparison and teardown are another matter."""
        return len(self.made) >= self.use.runs

    @property
    def failed(self) -> int:
        """How many runs of the plan are failures."""
        return sum(has_failed(run) for runs in self.made.values() for run in runs)


def earlier_sweeps(book: Book) -> Iterator[EarlierSweep]:
    """Sweeps of this logbook, the newest first. Only entries that name a recipe are read."""
    for entry_id in reversed(book.entry_ids()):
        try:
            if "\nrecipe:" not in book.entry_text(entry_id):
                continue
            entry = book.entry(entry_id)
            if entry.recipe is not None:
                yield EarlierSweep(entry=entry, runs=book.runs(entry_id))
        except StoreError:
            continue  # another entry's damage is told elsewhere


def durations_s(sweeps: list[EarlierSweep], name: str, scale: str | None) -> list[float]:
    """How long finished runs of a recipe's cases took at a scale."""
    runs = [run for s in sweeps if (s.use.name, s.use.scale) == (name, scale) for run in s.runs if not is_own(run)]
    return [run.duration_s for run in runs if run.duration_s is not None and run.exit is not None and not run.exit.code]


def deciding(chosen: Chosen, book: Book | None) -> Metric | None:
    """The metric that says which case is best: the recipe's first, else the logbook's."""
    declared = book.header.metrics if book is not None else ()
    wanted = chosen.recipe.metrics[0] if chosen.recipe.metrics else None
    if wanted is None:
        return next((m for m in declared if m.primary), None)
    return next((m for m in declared if m.name == wanted.name and m.direction is not None), wanted)


# -- what is measured and left -------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far the chosen plan is in the sweep that has `begun`; without one, nothing is made. `retries`: failed runs
    are to be made again."""

    workspace: Workspace
    book: Book | None
    chosen: Chosen
    begun: EarlierSweep | None = None
    retries: bool = False

    @property
    def plan(self) -> SweepPlan:
        return self.chosen.plan

    @property
    def entry(self) -> Entry | None:
        return self.begun.entry if self.begun is not None else None

    @property
    def runs(self) -> tuple[Run, ...]:
        return self.begun.runs if self.begun is not None else ()

    @cached_property
    def made(self) -> dict[PlanKey, list[Run]]:
        """The runs of cases that need not be made again."""
        made = self.begun.made if self.begun is not None else {}
        return {key: runs for key, runs in made.items() if not (self.retries and any(map(has_failed, runs)))}

    @cached_property
    def judged(self) -> dict[int, Run]:
        """Those by their numbers, as they are judged."""
        return {run.run: run for run in self.judge([run for runs in self.made.values() for run in runs])}

    def judge(self, runs: Sequence[Run]) -> tuple[Run, ...]:
        """Runs as the gates of the logbook and the recipe judge them."""
        return judged(runs, gates_of(self.chosen.recipe.gates, self.book.header.gates if self.book is not None else ()))

    def made_of(self, planned: PlannedRun) -> Sequence[Run]:
        """What was made of a run of the plan: of its config as the record has it, and of that repeat."""
        return self.made.get((row_key(self.workspace.redacted_config(planned.config)), planned.repeat), ())

    @cached_property
    def todo(self) -> list[PlannedRun]:
        """The runs of the plan that are still to be made, in order."""
        return [planned for planned in self.plan if not self.made_of(planned)]

    @cached_property
    def tally(self) -> Tally:
        """The values of the runs of the plan."""
        tally = Tally(self.plan, deciding(self.chosen, self.book))
        for planned in self.plan:
            for run in self.made_of(planned):
                tally.add(planned.case, self.judged[run.run])
        return tally

    @cached_property
    def contenders(self) -> tuple[PlannedCase, PlannedCase] | None:
        """The case to compare after exploring, and its base."""
        baseline = baseline_cases(self.book.header) if self.book is not None else ()
        return self.tally.contenders(baseline[0] if baseline else None)

    @property
    def _is_settled(self) -> bool:
        """Whether the comparison that the entry states is settled."""
        if self.book is None or self.entry is None or self.entry.comparison is None:
            return False
        answer = read(self.workspace, self.book).comparisons.answer_of(self.entry.id)
        return answer is not None and answer.is_settled

    @property
    def left(self) -> int:
        """How many runs of the plan are still to be made, and how many more a comparison of its best case may take."""
        return len(self.todo) + self.to_compare

    @property
    def to_compare(self) -> int:
        """How many runs the comparison after a plan that explores may still take; none where there is nothing to
        compare, or the answer is settled."""
        confirm = self.plan.confirm
        if not confirm:
            return 0
        if not self.todo and (self.contenders is None or self._is_settled):
            return 0
        made = [run for run in self.runs if run.label == COMPARISON and is_made(run) and not has_failed(run)]
        return max(0, 2 * confirm - len(made))

    @property
    def is_finished(self) -> bool:
        """Whether every run has been made, those of the comparison too, and the teardown came after the last one."""
        last = self.runs[-1] if self.runs else None
        is_torn_down = last is not None and is_own(last, TEARDOWN) and is_made(last)
        return not self.left and (is_torn_down or not self.plan.recipe.teardown)
