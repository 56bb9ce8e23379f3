"""What one cell of a table measured: the cases in it reduced to a value, with how it came about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from logbook_agent.findings.tables.frame import Item, used_devices
from logbook_agent.model.stats import median

PER_DEVICE = "_per_device"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A median over runs of the medians of their samples, in the metric's own unit; None: not reported.

    Values in several units have no median; `unit` is that of all, as far as they say.
    `medians` are those of the runs, `spread` the lowest and highest of them when there are several.
    `samples` are the numbers of samples of each run that counts, `failed` the reasons of those that do not.
    """

    value: float | None = None
    unit: str | None = None
    medians: tuple[float, ...] = ()
    spread: tuple[float, float] | None = None
    per_device: float | None = None
    runs: int = 0
    samples: tuple[int, ...] = ()
    failed: tuple[str, ...] = ()

    @property
    def all_failed(self) -> bool:
        return bool(self.failed) and len(self.failed) == self.runs


def read(items: Sequence[Item], metric: str, declared: str | None = None) -> Reading:
    """The value of a metric, or of an observation by that name, over the repeats in one cell: of values in several
    units, that of those in the declared one."""
    good = [item for item in items if item.row.failed is None]
    failed = tuple(item.row.failed.reason for item in items if item.row.failed is not None)
    samples = tuple(
        len(item.row.metrics[metric].samples)
        for item in good
        if metric in item.row.metrics and item.row.metrics[metric].samples
    )
    units = {m.unit for item in good if (m := item.row.metrics.get(metric)) is not None and m.unit is not None}
    if len(units) > 1 and declared in units:
        units = {declared}
        good = [i for i in good if (m := i.row.metrics.get(metric)) is None or m.unit in (None, declared)]
    if len(units) > 1:
        return Reading(runs=len(items), samples=samples, failed=failed)
    values = [value for item in good if (value := value_of(item, metric)) is not None]
    return Reading(
        value=_over_runs(values),
        unit=next(iter(units), None),
        medians=tuple(values),
        spread=(min(values), max(values)) if len(values) > 1 else None,
        per_device=_over_runs([share_of(item, metric) for item in good]),
        runs=len(items),
        samples=samples,
        failed=failed,
    )


def value_of(item: Item, name: str) -> float | None:
    """The median of a metric's samples, or the observation of that name; None when there is neither."""
    measurement = item.row.metrics.get(name)
    if measurement is not None:
        return median(measurement.samples) if measurement.samples else None
    return item.row.observations.get(name)


def share_of(item: Item, metric: str) -> float | None:
    """A metric per used device: as the command reported it, else the total over the used devices."""
    reported = value_of(item, metric + PER_DEVICE)
    if reported is not None:
        return reported
    total, used = value_of(item, metric), used_devices(item.row.devices)
    return None if total is None or used is None else total / used


def _over_runs(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
