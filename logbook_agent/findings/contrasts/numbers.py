"""What the pairs of a comparison measured: numbers of both sides, their ratio, and the verdict or what withholds it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from logbook_agent.findings.contrasts.likeness import ORDER, UNIT, Difference, DifferenceStanding, Terms
from logbook_agent.findings.contrasts.matching import Group, Pair
from logbook_agent.findings.evidence.layout import WHY, Arrangement, Lay, PlacedRun, layout, sittings
from logbook_agent.findings.evidence.planning import scatter_of_pairs
from logbook_agent.findings.evidence.verdict import Judgement, Runs, Verdict, judge
from logbook_agent.findings.levels import Level, level_of
from logbook_agent.findings.tables.frame import RunKey
from logbook_agent.model.entry import APART_S
from logbook_agent.model.header import Metric, metric_named
from logbook_agent.model.run import Row
from logbook_agent.model.stats import median
from logbook_agent.model.stats.sequential import threshold
from logbook_agent.model.units import Direction

# A run with its samples of a metric.
RunSamples = tuple[RunKey, Sequence[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """One side of a pair in one metric: the median over runs of the medians of their samples, lowest and highest run.

    `values` are the medians of the runs, in the order in which these were started; there are none for a number that was
    stated and not measured here. `failed` are the reasons of cases without one. `level`: where their level changed.
    """

    median: float | None = None
    low: float | None = None
    high: float | None = None
    unit: str | None = None
    samples: int = 0
    failed: tuple[str, ...] = ()
    values: tuple[float, ...] = ()
    level: Level | None = None

    @property
    def runs(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One metric of a pair. `judgement` is None where there is no ratio to judge; its verdict holds only when
    `withheld_by` is empty. `layout`: how the runs of the two sides lay, where both have some. `sittings`: of a verdict
    by pairs the logarithm of the ratio of each pair, those of one sitting together."""

    metric: str
    direction: Direction | None
    base: Numbers
    other: Numbers
    judgement: Judgement | None
    withheld_by: tuple[Difference, ...] = ()
    reasons: tuple[str, ...] = ()
    layout: Arrangement | None = None
    sittings: tuple[tuple[float, ...], ...] = ()

    @property
    def interleaved(self) -> bool:
        """Whether it is judged by pairs."""
        return self.layout is not None and self.layout.is_paired

    @property
    def is_alike(self) -> bool:
        """Whether like stands beside like: the order of runs withholds the verdict, and not the numbers."""
        return all(d.is_order for d in self.withheld_by)

    @property
    def is_allowed(self) -> bool:
        """Whether it is judged because somebody wants it, although the order of its runs settles nothing."""
        return self.layout is not None and not self.layout.is_sound and not any(d.is_order for d in self.withheld_by)

    @property
    def marks(self) -> tuple[str, ...]:
        """What has to stand beside its verdict wherever that is told."""
        fixed = self.layout is not None and self.layout.lay is Lay.FIXED
        return ("fixed order",) * fixed + ("order allowed",) * self.is_allowed

    @property
    def marked(self) -> str:
        """` (fixed order)`, to stand behind a verdict; empty without marks."""
        return f" ({', '.join(self.marks)})" if self.marks else ""

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


def compared(
    pair: Pair, metric: str, declared: Sequence[Metric], minimum_effect: float, terms: Terms, apart_s: float = APART_S
) -> Compared:
    """A metric, or an observation by that name, of a pair. `apart_s`: see `layout`."""
    (base, first), (other, last) = _measured(pair.base, metric), _measured(pair.other, metric)
    direction = _direction(pair, metric, declared)
    differs = _units_differ(base.unit, other.unit)
    missing = [f"{side} has no number: {why}" for side, n in (("base", base), ("other", other)) if (why := _missing(n))]
    reasons: Sequence[str] = [] if differs else missing
    judgement = lay = None
    withheld = [*pair.likeness.withheld_by, *differs]
    if not differs and not missing:
        lay = layout_of([r for r, _ in first], [r for r, _ in last], pair, apart_s)
        judgement = _judged([s for _, s in first], [s for _, s in last], lay, direction, minimum_effect)
        reasons = judgement.reasons
        if not lay.is_sound and ORDER not in (*terms.allowed, *terms.implied):
            withheld.append(_order(lay))
    return Compared(
        metric=metric,
        direction=direction,
        base=base,
        other=other,
        judgement=judgement,
        withheld_by=tuple(withheld),
        reasons=tuple(reasons),
        layout=lay,
        sittings=_sittings(pair, lay, first, last, apart_s) if judgement and lay and _is_settled(judgement) else (),
    )


def _is_settled(judgement: Judgement) -> bool:
    return judgement.verdict is not Verdict.INCONCLUSIVE


def _sittings(
    pair: Pair, lay: Arrangement, first: Sequence[RunSamples], last: Sequence[RunSamples], apart_s: float
) -> tuple[tuple[float, ...], ...]:
    """The logarithms of the ratios of pairs, by sitting; nothing where runs are no pairs."""
    of = {item.run: item.case for item in (*pair.base.items, *pair.other.items)}
    runs = [(first[a], last[b]) for a, b in lay.pairs]
    times = [(min(one[0], two[0])[0], of[max(one[0], two[0])].ended) for one, two in runs]
    logs = [math.log(median(two[1])) - math.log(median(one[1])) for one, two in runs]
    return tuple(tuple(logs[at] for at in places) for places in sittings(times, apart_s=apart_s))


def layout_of(base: Sequence[RunKey], other: Sequence[RunKey], pair: Pair, apart_s: float) -> Arrangement:
    """How those runs of a pair lay that measured a metric."""
    of = {item.run: item.case for item in (*pair.base.items, *pair.other.items)}
    placed = [
        [PlacedRun(key, c.ended, c.repeat, c.design, c.picked) for key in side if (c := of[key])]
        for side in (base, other)
    ]
    return replace(layout(*placed, apart_s=apart_s), made=len(pair.base.rounds & pair.other.rounds))


def _judged(base: Runs, other: Runs, lay: Arrangement, direction: Direction | None, minimum_effect: float) -> Judgement:
    """The verdict of runs that lay so; pairs where they are some, and none before all planned ones are there."""
    alpha = threshold(lay.looks, lay.plans)
    if not lay.is_paired:
        if lay.kept is not None:
            base, other = ([side[at] for at in own] for side, own in zip((base, other), lay.kept, strict=True))
        found = judge(base, other, direction=direction, minimum_effect=minimum_effect, alpha=alpha)
        return _when_all_are_there(found, lay, "runs of each side")
    sides = [base[a] for a, _ in lay.pairs], [other[b] for _, b in lay.pairs]
    found = judge(*sides, direction=direction, minimum_effect=minimum_effect, other_first=lay.other_first, alpha=alpha)
    if lay.alone:
        notes = f"{lay.alone} run{'s' * (lay.alone > 1)} without a partner left out"
        found = replace(found, reasons=(*found.reasons, notes))
    return _when_all_are_there(found, lay, "pairs")


def _when_all_are_there(found: Judgement, lay: Arrangement, what: str) -> Judgement:
    """A plan whose result is judged once has none before its last run."""
    if not lay.is_unfinished or found.effect is None:
        return found
    early = f"{lay.made} of {lay.rounds} planned {what}: the result is judged when all are there"
    return replace(found, verdict=Verdict.INCONCLUSIVE, reasons=(early, *found.reasons))


def _order(lay: Arrangement) -> Difference:
    """What withholds the verdict on runs that lay so."""
    return Difference(name=ORDER, base=None, other=None, standing=DifferenceStanding.DIFFERS, why=WHY[lay.lay])


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


def runs_behind(group: Group, metric: str) -> list[RunKey]:
    """The runs that `Numbers.values` are of, in the same order."""
    return [run for run, _ in _measured(group, metric)[1]]


def scatter_of(m: Compared) -> float | None:
    """How far the pairs of a metric scatter, as a standard deviation of logarithms; None where they are too few."""
    if m.layout is None or not m.layout.is_paired or m.judgement is None or m.judgement.effect is None:
        return None
    first, last = m.base.values, m.other.values
    return scatter_of_pairs([math.log(last[b] / first[a]) for a, b in m.layout.pairs])


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
        level=level_of(metric, [(key, value) for (key, _), value in zip(runs, values, strict=True)]),
    )
    return found, runs


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
    """Which way is better: as declared, by the table of known metrics, or as the rows of the base say. What is measured
    against the base does not say how it is judged."""
    said = metric_named(metric, declared).direction
    if said is not None:
        return said
    found = {m.direction for i in pair.base.items if (m := i.row.metrics.get(metric)) is not None and m.direction}
    return next(iter(found)) if len(found) == 1 else None
