"""How far the plan of a recipe is in an entry: which of its runs are made, what they measured, and what is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from logbook_agent.campaign.recipes.expand import PlannedCase, PlannedRun, SweepPlan, describe
from logbook_agent.findings.comparison.answers import answer_of
from logbook_agent.findings.summaries import baseline_cases, is_case, unit_of, value_in
from logbook_agent.model.entry import Entry
from logbook_agent.model.gates import judged
from logbook_agent.model.header import Metric
from logbook_agent.model.record import (
    TEARDOWN,
    PlanKey,
    Record,
    best_pairs,
    ended_badly,
    has_failed,
    is_made,
    is_own,
    made_of_plan,
)
from logbook_agent.model.run import Run, Scalar
from logbook_agent.model.stats import median
from logbook_agent.model.values import canonical, row_key
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace


def deciding(plan: SweepPlan, book: Book | None) -> Metric | None:
    """The metric that says which case is best: the recipe's first, else the logbook's."""
    declared = book.header.metrics if book is not None else ()
    wanted = plan.recipe.metrics[0] if plan.recipe.metrics else None
    if wanted is None:
        return next((m for m in declared if m.primary), None)
    return next((m for m in declared if m.name == wanted.name and m.direction is not None), wanted)


# -- what is measured and left -------------------------------------------------------------------------


class Progress(Struct, frozen=True, kw_only=True, dict=True):
    """How far a plan is in the sweep of a `record`, with its runs as they are judged; without one, nothing is made.
    `retries`: failed runs are to be made again."""

    workspace: Workspace
    book: Book | None
    plan: SweepPlan
    record: Record | None = None
    retries: bool = False

    @property
    def entry(self) -> Entry | None:
        return self.record.entry if self.record is not None else None

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        return tuple(status.run for status in self.record.runs) if self.record is not None else ()

    @cached_property
    def _ended(self) -> dict[PlanKey, list[Run]]:
        return made_of_plan(self.runs)

    @property
    def failed(self) -> int:
        """How many runs of the plan are failures."""
        return sum(has_failed(run) for runs in self._ended.values() for run in runs)

    @cached_property
    def made(self) -> dict[PlanKey, list[Run]]:
        """The runs of cases that need not be made again."""
        return {key: runs for key, runs in self._ended.items() if not (self.retries and any(map(has_failed, runs)))}

    def judge(self, run: Run) -> Run:
        """A run that was just made, as the gates judge it by itself."""
        return judged([run], self.record.gates if self.record is not None else ())[0]

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
        tally = Tally(self.plan, deciding(self.plan, self.book))
        for planned in self.plan:
            for run in self.made_of(planned):
                tally.add(planned.case, run)
        return tally

    @cached_property
    def contenders(self) -> tuple[PlannedCase, PlannedCase] | None:
        """The case to compare after exploring, and its base: those that pairs were made of, else the best case so
        far."""
        stated = self.entry.comparison if self.entry is not None else None
        values = stated.question.values if stated is not None else ()
        for sides in best_pairs(self.runs) if values else ():
            base, *others = (self._case_of(sides[name].config) if name in sides else None for name in values)
            if base is not None and others[0] is not None:
                return others[0], base
        baseline = baseline_cases(self.book.header) if self.book is not None else ()
        return self.tally.contenders(baseline[0] if baseline else None)

    def _case_of(self, config: Mapping[str, Scalar]) -> PlannedCase | None:
        """The case of the plan that has a config as the record has it."""
        configs = ((case, self.plan.run(case, repeat=1, place=0).config) for case in self.plan.cases)
        wanted = row_key(config)
        return next((c for c, own in configs if row_key(self.workspace.redacted_config(own)) == wanted), None)

    @property
    def _is_settled(self) -> bool:
        """Whether the comparison that the entry states is settled."""
        if self.book is None or self.record is None:
            return False
        answer = answer_of(self.record, self.book.header.metrics)
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
        return 2 * max(0, confirm - len(best_pairs(self.runs)))

    @property
    def is_finished(self) -> bool:
        """Whether every run has been made, those of the comparison too, and the teardown came after the last one."""
        last = self.runs[-1] if self.runs else None
        is_torn_down = last is not None and is_own(last, TEARDOWN) and is_made(last)
        return not self.left and (is_torn_down or not self.plan.recipe.teardown)


# -- values -------------------------------------------------------------------------------------------


class Best(Struct, frozen=True, kw_only=True):
    """The best case by a metric: the median of its runs in the plan, of which `runs` have a value. That it is better
    than another case only a comparison says."""

    case: str
    label: str
    metric: str
    unit: str | None
    value: float
    runs: int

    @property
    def text(self) -> str:
        return f"best so far {self.value:.6g} ({self.label})"


class Tally:
    """Values of the deciding metric by case, as the runs come in. Those in two units have no common scale."""

    def __init__(self, plan: SweepPlan, metric: Metric | None) -> None:
        self._plan, self.metric = plan, metric
        self._sign = -1 if metric is not None and metric.direction == "min" else 1
        self._values: dict[str | None, dict[str, list[float]]] = {}
        # The median of each case, by its key, the better the higher; and the best case that is not a control.
        self._ranks: dict[str | None, dict[str, float]] = {}
        self._top: dict[str | None, str] = {}

    def add(self, case: PlannedCase, run: Run) -> None:
        """Count what a run of a case measured."""
        for value, unit in self.measured(run):
            values, ranks = self._values.setdefault(unit, {}).setdefault(case.key, []), self._ranks.setdefault(unit, {})
            values.append(value)
            ranks[case.key] = self._sign * median(values)
            if not case.is_control:
                top = self._top.setdefault(unit, case.key)
                # That of the best case may have fallen.
                able = [key for key in ranks if not self._plan.by_key[key].is_control] if top == case.key else [top]
                self._top[unit] = max(*able, case.key, key=ranks.__getitem__)

    def measured(self, run: Run) -> list[tuple[float, str | None]]:
        """What each row of a run measured of the metric, the median of its samples, and its unit."""
        if self.metric is None or ended_badly(run):
            return []
        return [found for row in run.rows if (found := value_in(row, self.metric)) is not None]

    @property
    def unit(self) -> str | None:
        """The unit in which values are ranked: the metric's, else the only one there is."""
        wanted = unit_of(self.metric) if self.metric is not None else None
        return wanted if wanted in self._values or len(self._values) != 1 else next(iter(self._values))

    def problems(self) -> list[str]:
        """Values that cannot be ranked, in words."""
        if len(self._values) < 2 or self.metric is None:
            return []
        units = " and ".join(unit or "no unit" for unit in self._values)
        ranked = f"only values in {self.unit} are" if self.unit in self._values else "nothing is"
        return [f"{self.metric.name} has values in {units}: {ranked} ranked"]

    def best(self) -> Best | None:
        """The best case that is not a control; None when the metric has no direction or nothing was measured."""
        unit, metric = self.unit, self.metric
        key = self._top.get(unit)
        if metric is None or metric.direction is None or key is None:
            return None
        label, values = describe(self._plan, self._plan.by_key[key]), self._values[unit][key]
        value = median(values)
        return Best(case=key, label=label, metric=metric.name, unit=unit, value=value, runs=len(values))

    def contenders(self, baseline: Mapping[str, Scalar] | None) -> tuple[PlannedCase, PlannedCase] | None:
        """The case to compare and its base, after exploring: of those that are no base the one that is best against its
        own, so that cases of several sizes are never ranked against each other; without a base the best and the
        runner-up. None where two cases have no value."""
        if self.best() is None:
            return None
        ranks = self._ranks.get(self.unit, {})
        bases = {key: base for key, base in bases_of(self._plan, baseline).items() if key in ranks}
        used = {base.key for base in bases.values()}
        able = [case for key in ranks if not (case := self._plan.by_key[key]).is_control and key not in used]
        pairs = [(case, base) for case in able if (base := bases.get(case.key)) is not None and base.key in ranks]
        if pairs:
            return max(pairs, key=lambda pair: _gain(*(ranks[case.key] for case in pair)))
        ranked = sorted(able, key=lambda case: ranks[case.key], reverse=True)
        return (ranked[0], ranked[1]) if len(ranked) > 1 else None


def _gain(rank: float, base: float) -> float:
    """How much better a case is than its base, by their ranks, as a part of it; of values that have no ratio, 0."""
    return (rank - base) / abs(base) if rank * base > 0 else 0.0


def bases_of(plan: SweepPlan, baseline: Mapping[str, Scalar] | None = None) -> dict[str, PlannedCase]:
    """The base of each case, by its key: what the recipe compares it with, its control, or the logbook's baseline (a
    config). A base is its own."""
    compare = plan.recipe.compare
    if compare is not None:
        base = canonical(compare.base)
        of_groups = [(group, next((case for case in group if case.side == base), None)) for group in plan.groups]
        found = {case.key: of_group for group, of_group in of_groups for case in group}
    else:
        default = next((case for case in plan.cases if is_case(case.values, baseline or {})), None)
        found = {case.key: plan.by_key.get(case.controls[0]) if case.controls else default for case in plan.cases}
    return {key: case for key, case in found.items() if case is not None}
