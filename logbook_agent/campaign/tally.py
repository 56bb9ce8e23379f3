"""The best case of a sweep, and the two cases that are compared after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from logbook_agent.campaign.recipes.expand import PlannedCase, SweepPlan, compared_groups, describe
from logbook_agent.findings.measurements import unit_of, value_in
from logbook_agent.model.header import Metric
from logbook_agent.model.record import ended_badly
from logbook_agent.model.run import Run
from logbook_agent.model.stats import median
from logbook_agent.model.values import Scalar, canonical

# By case the values of each of its runs, under the run's number.
_Cases = dict[str, dict[int, list[float]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """The best case by a metric: the median of its runs in the plan, of which `runs` have a value. That it is better
    than another case only a comparison says."""

    key: str
    label: str
    metric: Metric
    unit: str | None
    value: float
    runs: int

    def data(self) -> dict[str, object]:
        return {
            "case": self.key,
            "label": self.label,
            "metric": self.metric.name,
            "unit": self.unit,
            "value": self.value,
            "runs": self.runs,
        }


class Tally:
    """Values of the deciding metric by case, as the runs come in. Those in two units have no common scale."""

    def __init__(self, plan: SweepPlan, metric: Metric | None) -> None:
        self._plan = plan
        self._of_unit: dict[str | None, _Cases] = {}
        self.metric = metric

    def add(self, key: str, run: Run) -> None:
        """Count the values of a run of a case."""
        for value, unit in self.measured(run):
            self._of_unit.setdefault(unit, {}).setdefault(key, {}).setdefault(run.run, []).append(value)

    def measured(self, run: Run) -> list[tuple[float, str | None]]:
        """What each row of a run measured of the metric, the median of its samples, and its unit."""
        if self.metric is None or ended_badly(run):
            return []
        return [found for row in run.rows if (found := value_in(row, self.metric)) is not None]

    @property
    def unit(self) -> str | None:
        """The unit in which values are ranked: the metric's, else the only one there is."""
        wanted = unit_of(self.metric) if self.metric is not None else None
        return wanted if wanted in self._of_unit or len(self._of_unit) != 1 else next(iter(self._of_unit))

    def problems(self) -> list[str]:
        """Values that cannot be ranked, in words."""
        if len(self._of_unit) < 2 or self.metric is None:
            return []
        units = " and ".join(unit or "no unit" for unit in self._of_unit)
        ranked = f"only values in {self.unit} are" if self.unit in self._of_unit else "nothing is"
        return [f"{self.metric.name} has values in {units}: {ranked} ranked"]

    def ranked(self) -> list[PlannedCase]:
        """The cases that have a value, the best first; none where the metric has no direction."""
        metric = self.metric
        if metric is None or metric.direction is None:
            return []
        cases = self._of_unit.get(self.unit, {})
        sign = -1 if metric.direction == "max" else 1
        return [self._plan.by_key[key] for key in sorted(cases, key=lambda key: sign * _value(cases[key]))]

    def best(self) -> Best | None:
        """The best case that is not a control; None when the metric has no direction or nothing was measured."""
        case = next((case for case in self.ranked() if not case.is_control), None)
        if case is None or self.metric is None:
            return None
        runs = self._of_unit[self.unit][case.key]
        return Best(
            key=case.key,
            label=describe(self._plan, case),
            metric=self.metric,
            unit=self.unit,
            value=_value(runs),
            runs=len(runs),
        )

    def contenders(self, baseline: Mapping[str, Scalar] | None) -> tuple[PlannedCase, PlannedCase] | None:
        """The case to compare and its base, after exploring: of those that are no base the one that is best against its
        own, which is what the recipe compares it with, its control or the logbook's `baseline` (a config), so that
        cases of several sizes are never ranked against each other; without a base the best and the runner-up. None
        where two cases have no value."""
        ranked = self.ranked()
        bases = {case.key: self._base(case, baseline) for case in ranked}
        is_base = {base.key for base in bases.values() if base is not None}
        able = [case for case in ranked if not case.is_control and case.key not in is_base]
        pairs = [(case, base) for case in able if (base := bases[case.key]) is not None and base.key in bases]
        if pairs:
            return max(pairs, key=lambda pair: self._gain(*pair))
        return (able[0], able[1]) if len(able) > 1 else None

    def _gain(self, case: PlannedCase, base: PlannedCase) -> float:
        """How many times as good as its base a case is; of values that have no ratio, 1."""
        mine, other = (_value(self._of_unit[self.unit][one.key]) for one in (case, base))
        ratio = mine / other if mine > 0 and other > 0 else 1.0
        return 1 / ratio if self.metric is not None and self.metric.direction == "min" else ratio

    def _base(self, case: PlannedCase, baseline: Mapping[str, Scalar] | None) -> PlannedCase | None:
        plan, compare = self._plan, self._plan.recipe.compare
        if compare is not None:
            group = next(group for group in compared_groups(plan) if case.key in {plan.cases[at].key for at in group})
            return next((c for at in group if _has(plan, c := plan.cases[at], {compare.axis: compare.base})), None)
        if case.controls:
            return plan.by_key.get(case.controls[0])
        return next((c for c in plan.cases if baseline and _has(plan, c, baseline)), None)


def _has(plan: SweepPlan, case: PlannedCase, values: Mapping[str, Scalar]) -> bool:
    config = plan.config(case)
    return all(canonical(config.get(key)) == canonical(value) for key, value in values.items())


def _value(runs: Mapping[int, Sequence[float]]) -> float:
    return median([median(values) for values in runs.values()])
