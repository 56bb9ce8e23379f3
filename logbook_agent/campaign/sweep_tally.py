"""What the cases of a sweep measured: the best so far, and the two that are compared after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from logbook_agent.campaign.recipes.expand import PlannedCase, SweepPlan, describe
from logbook_agent.findings.measurements import is_case, unit_of, value_in
from logbook_agent.model.header import Metric
from logbook_agent.model.record import ended_badly
from logbook_agent.model.run import Run, Scalar
from logbook_agent.model.stats import median


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """The best case by a metric: the median of its runs in the plan, of which `runs` have a value. That it is better
    than another case only a comparison says."""

    case: PlannedCase
    label: str
    metric: Metric
    unit: str | None
    value: float
    runs: int

    @property
    def text(self) -> str:
        return f"best so far {self.value:.6g} ({self.label})"

    def data(self) -> dict[str, object]:
        return {
            "case": self.case.key,
            "label": self.label,
            "metric": self.metric.name,
            "unit": self.unit,
            "value": self.value,
            "runs": self.runs,
        }


class Tally:
    """Values of the deciding metric by case, as the runs come in. Those in two units have no common scale."""

    def __init__(self, plan: SweepPlan, metric: Metric | None) -> None:
        self._plan, self.metric = plan, metric
        self._values: dict[str | None, dict[str, list[float]]] = {}
        # The best case of each unit that is not a control.
        self._best: dict[str | None, str] = {}

    def add(self, case: PlannedCase, run: Run) -> None:
        """Count what a run of a case measured."""
        for value, unit in self.measured(run):
            values = self._values.setdefault(unit, {})
            values.setdefault(case.key, []).append(value)
            if case.is_control:
                continue
            able, best = [case.key], self._best.get(unit, case.key)
            if best == case.key:  # its median may have fallen
                able = [key for key in values if not self._plan.by_key[key].is_control]
            self._best[unit] = max([best, *able], key=self._rank(unit))

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
        if metric is None or metric.direction is None or unit not in self._best:
            return None
        key = self._best[unit]
        case, values = self._plan.by_key[key], self._values[unit][key]
        label = describe(self._plan, case)
        return Best(case=case, label=label, metric=metric, unit=unit, value=median(values), runs=len(values))

    def contenders(self, baseline: Mapping[str, Scalar] | None) -> tuple[PlannedCase, PlannedCase] | None:
        """The case to compare and its base, after exploring: of those that are no base the one that is best against its
        own, so that cases of several sizes are never ranked against each other; without a base the best and the
        runner-up. None where two cases have no value."""
        if self.best() is None:
            return None
        medians = {key: median(values) for key, values in self._values.get(self.unit, {}).items()}
        bases = _bases(self._plan, baseline)
        used = {bases[key].key for key in medians if key in bases}
        able = [case for case in map(self._plan.by_key.__getitem__, medians) if not case.is_control]
        able = [case for case in able if case.key not in used]
        pairs = [(case, bases[case.key]) for case in able if case.key in bases and bases[case.key].key in medians]
        if pairs:
            return max(pairs, key=lambda pair: self._gain(*(medians[case.key] for case in pair)))
        rank = self._rank(self.unit)
        ranked = sorted(able, key=lambda case: rank(case.key), reverse=True)
        return (ranked[0], ranked[1]) if len(ranked) > 1 else None

    def _rank(self, unit: str | None) -> Callable[[str], float]:
        sign = -1 if self.metric is not None and self.metric.direction == "min" else 1
        return lambda key: sign * median(self._values[unit][key])

    def _gain(self, value: float, base: float) -> float:
        """How many times as good as its base a case is; of values that have no ratio, 1."""
        ratio = value / base if value > 0 and base > 0 else 1.0
        return 1 / ratio if self.metric is not None and self.metric.direction == "min" else ratio


def _bases(plan: SweepPlan, baseline: Mapping[str, Scalar] | None) -> dict[str, PlannedCase]:
    """The base of each case, by its key: what the recipe compares it with, its control, or the logbook's baseline (a
    config). A base is its own."""
    compare = plan.recipe.compare
    if compare is not None:
        wanted, groups = {compare.axis: compare.base}, [[plan.cases[at] for at in of] for of in plan.groups]
        found = {case.key: _first(plan, group, wanted) for group in groups for case in group}
    else:
        default = _first(plan, plan.cases, baseline or {})
        found = {case.key: plan.by_key.get(case.controls[0]) if case.controls else default for case in plan.cases}
    return {key: base for key, base in found.items() if base is not None}


def _first(plan: SweepPlan, cases: Sequence[PlannedCase], values: Mapping[str, Scalar]) -> PlannedCase | None:
    return next((case for case in cases if is_case(case.values, values)), None)
