"""What both sides of a pair measured: medians over runs, and the change between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from logbook_agent.findings.contrasts.matching import Group, Pair
from logbook_agent.findings.tables.frame import RunKey
from logbook_agent.model.run import Row
from logbook_agent.model.stats import median


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """One side of a pair in one metric: the median over runs of the medians of their samples, lowest and highest run.

    `values` are the medians of the runs, in the order in which these were started; there are none for a number that was
    stated and not measured here. `failed` are the reasons of rows without a number.
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

    @property
    def missing(self) -> str:
        """Why there is no number; empty where there is one."""
        if self.median is not None:
            return ""
        if self.failed:
            return f"failed: {', '.join(dict.fromkeys(self.failed))}"
        return f"its unit is {self.unit}" if self.unit else "not reported"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricChange:
    """One metric of a pair."""

    metric: str
    base: Numbers
    other: Numbers

    @property
    def unit(self) -> str | None:
        return self.base.unit or self.other.unit

    @property
    def has_two_units(self) -> bool:
        return None not in (self.base.unit, self.other.unit) and self.base.unit != self.other.unit

    @property
    def change(self) -> float | None:
        """other / base - 1, of the medians; None where one is missing or not above zero, or they have two units."""
        a, b = self.base.median, self.other.median
        if a is None or b is None or min(a, b) <= 0 or self.has_two_units:
            return None
        return b / a - 1 if math.isfinite(a) and math.isfinite(b / a) else None


def compared(pair: Pair, metric: str) -> MetricChange:
    """A metric, or an observation by that name, of a pair."""
    return MetricChange(metric=metric, base=numbers(pair.base, metric), other=numbers(pair.other, metric))


def numbers(group: Group, metric: str) -> Numbers:
    """What a group measured of a metric."""
    measured = [m for item in group.items if (m := item.row.metrics.get(metric)) is not None]
    units = dict.fromkeys(m.unit for m in measured if m.unit is not None)
    # Values in several units have no median.
    runs = _runs(group, metric) if len(units) < 2 else []
    values = [median(samples) for samples in runs]
    return Numbers(
        median=median(values) if values else None,
        low=min(values, default=None),
        high=max(values, default=None),
        unit=" and ".join(units) or None,
        values=tuple(values),
        samples=sum(map(len, runs)),
        failed=tuple(group.failed),
    )


def _runs(group: Group, metric: str) -> list[Sequence[float]]:
    """The samples of each run of a group that has some, in the order in which the runs were started."""
    found: dict[RunKey, list[float]] = {}
    for item in group.items:
        if samples := _samples(item.row, metric):
            found.setdefault(item.run, []).extend(samples)
    return [samples for _, samples in sorted(found.items())]


def _samples(row: Row, metric: str) -> Sequence[float]:
    if row.failed is not None:
        return ()
    measurement = row.metrics.get(metric)
    if measurement is not None:
        return measurement.samples
    observed = row.observations.get(metric)
    return () if observed is None else (observed,)
