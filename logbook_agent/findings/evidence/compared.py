"""What the pairs of a comparison measured: numbers of both sides, their ratio, and the verdict or what withholds it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from logbook_agent.findings.evidence.alike import UNIT, Difference, DifferenceStanding
from logbook_agent.findings.evidence.pairs import Group, Pair
from logbook_agent.findings.evidence.verdict import Judgement, Runs, judge
from logbook_agent.findings.tables.frame import RunKey
from logbook_agent.model.header import Metric, metric_named
from logbook_agent.model.run import Row
from logbook_agent.model.stats import median
from logbook_agent.model.units import Direction

# A run with its samples of a metric.
RunSamples = tuple[RunKey, Sequence[float]]


class Turns(Enum):
    """Which side had the first run of the first pair."""

    BASE_FIRST = 0
    OTHER_FIRST = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """One side of a pair in one metric: the median over runs of the medians of their samples, lowest and highest run.

    `values` are the medians of the runs, in the order in which these were started; there are none for a number that was
    stated and not measured here. `failed` are the reasons of cases without one.
    """

    median: float | None = None
    low: float | None = None
    high: float | None = None
    unit: str | None = None
    samples: int = 0
    failed: tuple[str, ...] = ()
    values: tuple[float, ...] = ()

    @property
    def runs(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One metric of a pair. `judgement` is None where there is no ratio to judge; its verdict holds only when
    `withheld_by` is empty. `interleaved`: the runs alternated, and are judged in pairs."""

    metric: str
    direction: Direction | None
    base: Numbers
    other: Numbers
    judgement: Judgement | None
    withheld_by: tuple[Difference, ...] = ()
    reasons: tuple[str, ...] = ()
    interleaved: bool = False

    @property
    def unit(self) -> str | None:
        return self.base.unit or self.other.unit

    @property
    def ratio(self) -> float | None:
        """other / base: of pairs the median of their ratios, else of the medians; None where it cannot be said."""
        if self.judgement is not None and self.judgement.effect is not None:
            return self.judgement.effect.ratio
        return self.ratio_of_medians

    @property
    def ratio_of_medians(self) -> float | None:
        a, b = self.base.median, self.other.median
        if a is None or b is None or a <= 0 or not math.isfinite(b / a) or UNIT in (d.name for d in self.withheld_by):
            return None
        return b / a


def compared(pair: Pair, metric: str, declared: Sequence[Metric], minimum_effect: float) -> Compared:
    """A metric, or an observation by that name, of a pair."""
    (base, first), (other, last) = _measured(pair.base, metric), _measured(pair.other, metric)
    direction = _direction(pair, metric, declared)
    differs = _units_differ(base.unit, other.unit)
    missing = [f"{side} has no number: {why}" for side, n in (("base", base), ("other", other)) if (why := _missing(n))]
    reasons: Sequence[str] = [] if differs else missing
    judgement = turns = None
    if not differs and not missing:
        turns = turns_of([r for r, _ in first], [r for r, _ in last])
        judgement = judge(
            [samples for _, samples in first],
            [samples for _, samples in last],
            direction=direction,
            minimum_effect=minimum_effect,
            paired=turns is not None,
            other_first=turns is Turns.OTHER_FIRST,
        )
        reasons = judgement.reasons
    return Compared(
        metric=metric,
        direction=direction,
        base=base,
        other=other,
        judgement=judgement,
        withheld_by=(*pair.likeness.withheld_by, *differs),
        reasons=tuple(reasons),
        interleaved=turns is not None,
    )


def stated(name: str, value: float, group: Group, declared: Sequence[Metric]) -> Compared:
    """A number that a baseline states against the runs of a group: a ratio and no verdict."""
    metric, other = metric_named(name, declared), numbers(group, name)
    reasons = ["the baseline's number is stated, not measured here: it has no runs"]
    if why := _missing(other):
        reasons.append(f"other has no number: {why}")
    return Compared(
        metric=name,
        direction=metric.direction,
        base=Numbers(median=value, unit=metric.unit),
        other=other,
        judgement=None,
        withheld_by=_units_differ(metric.unit, other.unit),
        reasons=tuple(reasons),
    )


def _units_differ(base: str | None, other: str | None) -> tuple[Difference, ...]:
    """What two units withhold; nothing where a side does not state one."""
    if base is None or other is None or base == other:
        return ()
    return (Difference(name=UNIT, base=base, other=other, standing=DifferenceStanding.DIFFERS),)


def sides(pair: Pair, metric: str) -> tuple[Runs, Runs]:
    """The samples of every run of both sides, in the order in which the runs were started."""
    base, other = ([samples for _, samples in _measured(group, metric)[1]] for group in (pair.base, pair.other))
    return base, other


def numbers(group: Group, metric: str) -> Numbers:
    """What a group measured of a metric."""
    return _measured(group, metric)[0]


def _measured(group: Group, metric: str) -> tuple[Numbers, list[RunSamples]]:
    """The same, and the runs with their samples."""
    measured = [m for item in group.items if (m := item.row.metrics.get(metric)) is not None]
    units = dict.fromkeys(m.unit for m in measured if m.unit is not None)
    # Values in several units have no median.
    runs = _runs(group, metric) if len(units) < 2 else []
    values = [median(samples) for _, samples in runs]
    found = Numbers(
        median=median(values) if values else None,
        low=min(values, default=None),
        high=max(values, default=None),
        unit=" and ".join(units) or None,
        values=tuple(values),
        samples=sum(len(samples) for _, samples in runs),
        failed=tuple(group.failed),
    )
    return found, runs


def turns_of(base: Sequence[RunKey], other: Sequence[RunKey]) -> Turns | None:
    """Whether the runs of two sides were taken in turns, and who began: AB BA AB ... or BA AB BA ...

    Two whole pairs are needed. The last pair may want its second run, as when a series was cut off. None for
    anything else, and for a run that holds both sides: it has no order.
    """
    if min(len(base), len(other)) < 2 or {*base} & {*other}:
        return None
    order = [side for _, side in sorted([(r, 0) for r in base] + [(r, 1) for r in other])]
    in_turn = all(side == (order[0] + at + at // 2) % 2 for at, side in enumerate(order))
    return Turns(order[0]) if in_turn else None


def _runs(group: Group, metric: str) -> list[RunSamples]:
    """The samples of each run of a group that has some, in the order in which the runs were started."""
    found: dict[RunKey, list[float]] = {}
    for item in group.items:
        samples = _samples(item.row, metric)
        if samples:
            found.setdefault(item.run, []).extend(samples)
    return sorted(found.items())


def _samples(row: Row, metric: str) -> Sequence[float]:
    if row.failed is not None:
        return ()
    measurement = row.metrics.get(metric)
    if measurement is not None:
        return measurement.samples
    observed = row.observations.get(metric)
    return () if observed is None else (observed,)


def _missing(found: Numbers) -> str | None:
    """Why a side has no number; None when it has one."""
    if found.runs:
        return None
    if found.failed:
        return f"failed: {', '.join(dict.fromkeys(found.failed))}"
    return f"its unit is {found.unit}" if found.unit else "not reported"


def _direction(pair: Pair, metric: str, declared: Sequence[Metric]) -> Direction | None:
    """Which way is better: as declared, as the rows say, by the table of known metrics."""
    said = metric_named(metric, declared).direction
    if said is not None:
        return said
    items = (*pair.base.items, *pair.other.items)
    found = {m.direction for i in items if (m := i.row.metrics.get(metric)) is not None and m.direction}
    return next(iter(found)) if len(found) == 1 else None
