"""Which case of a sweep is the best one, and whether it is a winner or only the luckiest."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from logbook_agent.findings.measured import unit_of, value_in
from logbook_agent.model.header import Metric
from logbook_agent.model.record import ended_badly
from logbook_agent.model.run import Run
from logbook_agent.model.stats import median
from logbook_agent.model.values import canonical
from logbook_agent.sweeps.recipes.expand import SweepPlan, describe
from logbook_agent.sweeps.recipes.rules import settings_that_can

if TYPE_CHECKING:
    from logbook_agent.findings.evidence.winner import Selection

# By case the values of each of its runs, under the run's number.
_Cases = dict[str, dict[int, list[float]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """The best case by a metric: the median of its runs in the sweep, and those of fresh runs (none: not yet made).

    `is_winner`: the sweep's own runs bear out that it is the best (None: not asked), against the case `rival`, for
    these `reasons`.
    """

    key: str
    label: str
    metric: Metric
    unit: str | None
    value: float
    confirmed: tuple[float, ...] = ()
    is_winner: bool | None = None
    rival: str | None = None
    reasons: tuple[str, ...] = ()

    @property
    def fresh(self) -> float | None:
        return median(self.confirmed) if self.confirmed else None

    def data(self) -> dict[str, Any]:
        return {
            "case": self.key,
            "label": self.label,
            "metric": self.metric.name,
            "unit": self.unit,
            "in_sweep": self.value,
            "confirmed": self.fresh,
            "fresh_runs": len(self.confirmed),
            "is_winner": self.is_winner,
            "rival": self.rival,
            "reasons": list(self.reasons),
        }


class Tally:
    """Values of the deciding metric by case, as the runs come in. Those in two units have no common scale."""

    def __init__(self, plan: SweepPlan, metric: Metric | None) -> None:
        self._plan = plan
        self._of_unit: dict[str | None, _Cases] = {}
        # The round of each run, by its number.
        self._repeats: dict[int, int] = {}
        self.metric = metric

    def add(self, key: str, run: Run) -> None:
        """Take a run of a case."""
        self._repeats[run.run] = run.repeat or 1
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
        """What is not ranked."""
        if len(self._of_unit) < 2 or self.metric is None:
            return []
        units = " and ".join(unit or "no unit" for unit in self._of_unit)
        ranked = f"only values in {self.unit} are" if self.unit in self._of_unit else "nothing is"
        return [f"{self.metric.name} has values in {units}: {ranked} ranked"]

    def best(self) -> Best | None:
        """The best case that is not a control; None when the metric has no direction or nothing was measured."""
        metric = self.metric
        if metric is None or metric.direction is None:
            return None
        cases = self._of_unit.get(self.unit, {})
        medians = {key: _value(runs) for key, runs in cases.items() if not self._plan.by_key[key].is_control}
        if not medians:
            return None
        key = (max if metric.direction == "max" else min)(medians, key=lambda k: medians[k])
        return Best(key=key, label=self._name(key), metric=metric, unit=self.unit, value=medians[key])

    def judged(self, best: Best, *, again: Collection[int]) -> dict[str, Any]:
        """Whether the best case is a winner, as the fields of `Best` that say so.

        The runs with the numbers `again` were made later than the plan has them: a drift of the machine would look
        like an effect, so they are left out.
        """
        # Statistics are loaded once, at the end of a sweep.
        from logbook_agent.findings.evidence.layout import PlacedRun
        from logbook_agent.findings.evidence.winner import winner

        base = self._base()
        cases = self._of_unit.get(self.unit, {})
        chosen = [key for key in cases if key == base or not self._plan.by_key[key].is_control]
        if base is not None and base not in cases:
            return {"is_winner": False, "rival": self._name(base), "reasons": ("the base was not measured",)}
        placed = {
            key: [
                (PlacedRun(("", "", n), repeat=self._repeats[n], design=self._plan.design), values)
                for n, values in sorted(cases[key].items())
                if n not in again
            ]
            for key in chosen
        }
        late = next((key for key in chosen if not placed[key]), None)
        if late is not None:
            why = f"all runs of {self._name(late)} were retried later: a drift of the machine would look like an effect"
            return {"is_winner": False, "rival": self._name(late) if late != best.key else None, "reasons": (why,)}
        found = winner(placed, direction=best.metric.direction, base=base)
        if again and found.best not in (None, best.key, base):
            why = f"without the retried runs, {self._name(found.best)} is the best"
            return {"is_winner": False, "rival": None, "reasons": (why,)}
        rival = self._name(found.rival) if found.rival is not None else None
        return {"is_winner": found.winner == best.key, "rival": rival, "reasons": self._told(found)}

    def _base(self) -> str | None:
        """The case that the others are against, where it is a single one."""
        compare = self._plan.recipe.compare
        if compare is None:
            return None
        base = canonical(compare.base)
        keys = [c.key for c in self._plan.cases if canonical(self._plan.config(c)[compare.axis]) == base]
        return keys[0] if len(keys) == 1 else None

    def _told(self, found: Selection[str]) -> tuple[str, ...]:
        """The reasons, and what would settle it where the design of the sweep cannot."""
        plan = self._plan
        if found.winner is not None or found.rival is None:
            return found.reasons
        if plan.recipe.repeats == 1 and plan.recipe.compare is None:
            # An exploration by its plan; asked for a winner, it would be held to this.
            plan = dataclasses.replace(plan, recipe=dataclasses.replace(plan.recipe, repeats=2))
        sets, (first, *rest) = settings_that_can(plan), found.reasons
        if self._plan.recipe.repeats == 1 and found.repeats is not None:
            first = "one run of a case is not enough"
        return (f"{first} ({' '.join(sets)})" if sets else first, *rest)

    def _name(self, key: str) -> str:
        return describe(self._plan, self._plan.by_key[key])


def _value(runs: Mapping[int, Sequence[float]]) -> float:
    return median([median(values) for values in runs.values()])
