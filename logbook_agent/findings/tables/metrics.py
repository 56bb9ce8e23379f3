"""Which metrics a table shows, and how their numbers are written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from msgspec import Struct

from logbook_agent.findings.cases import value_of
from logbook_agent.findings.tables.frame import Frame, unknown
from logbook_agent.findings.tables.grid import Reading, share_of
from logbook_agent.findings.tables.spec import TableSpec
from logbook_agent.model.gates import REPORTED, failed_text
from logbook_agent.model.header import Metric, metric_named
from logbook_agent.model.units import format_value, known


class MetricColumn(Struct, frozen=True, kw_only=True):
    """A metric of the table: its unit in the rows, and the one to read it in. `comparable` is False when its rows are
    not all in one unit."""

    name: str
    unit: str | None = None
    declared_unit: str | None = None
    per_device: bool = False
    comparable: bool = True

    @property
    def heading(self) -> str:
        """The name; with the unit where the name does not imply it."""
        if self.unit is None or self.unit == known(self.name).unit or not self.comparable:
            return self.name
        return f"{self.name} ({self.unit})"


def choose(frame: Frame, spec: TableSpec, declared: Sequence[Metric]) -> tuple[list[MetricColumn], list[str]]:
    """The metrics asked for, else the declared ones and those of rows without them; and notes."""
    notes: list[str] = []
    if spec.metrics:
        names = list(dict.fromkeys(spec.metrics))
        _check(frame, names, declared)
    else:
        expected = [m.name for m in declared if any(value_of(i.row, m.name) is not None for i in frame.items)]
        names = _reported(frame, spec, expected)
        absent = [m.name for m in declared if m.name not in names]
        if absent and expected:
            notes.append(f"declared, but in none of these rows: {', '.join(absent)}")
    columns = [_column(frame, name, spec, declared) for name in names]
    notes += [
        f"{c.name} comes in several units ({', '.join(_units(frame, c.name))}): not compared"
        for c in columns
        if not c.comparable
    ]
    return columns, notes + (_per_device_notes(frame, columns) if spec.per_device else [])


def _reported(frame: Frame, spec: TableSpec, expected: Sequence[str]) -> list[str]:
    """The declared metrics that were measured or reported, and of rows that have none of them their metrics, else
    their observations."""
    names = dict.fromkeys(expected)
    for row in (item.row for item in frame.items):
        if (row.failed is None or row.failed.reason == REPORTED) and all(
            value_of(row, name) is None for name in expected
        ):
            metrics = [name for name, measurement in row.metrics.items() if measurement.samples]
            numbers = [name for name, value in row.observations.items() if value is not None and name != spec.pivot]
            names.update(dict.fromkeys(metrics or numbers))
    return list(names)


def _check(frame: Frame, names: Iterable[str], declared: Sequence[Metric]) -> None:
    reported = [name for item in frame.items for name in (*item.row.metrics, *item.row.observations)]
    existing = list(dict.fromkeys([*reported, *(metric.name for metric in declared)]))
    for name in names:
        if name not in existing:
            raise unknown("metric", name, existing, option="--metric")


def _column(frame: Frame, name: str, spec: TableSpec, declared: Sequence[Metric]) -> MetricColumn:
    units = _units(frame, name)
    unit = units[0] if units else metric_named(name, declared).unit
    stated = next((m.unit or known(name).unit for m in declared if m.name == name), None)
    # Only a rate has a share for each device.
    per_device = spec.per_device and (unit or "").endswith("/s") and not name.endswith("_per_device")
    return MetricColumn(name=name, unit=unit, declared_unit=stated, per_device=per_device, comparable=len(units) <= 1)


def _units(frame: Frame, name: str) -> list[str]:
    rows = [item.row.metrics[name] for item in frame.items if name in item.row.metrics]
    return list(dict.fromkeys(m.unit for m in rows if m.unit is not None))


def _per_device_notes(frame: Frame, columns: Sequence[MetricColumn]) -> list[str]:
    """That numbers in brackets are per device, which metrics have none, and how a command reports them."""
    rates = [c.name for c in columns if c.per_device]
    others = [c.name for c in columns if not c.per_device]
    notes = [f"not a rate over devices: {', '.join(others)}"] if others else []
    notes += ["in brackets: per device"] if rates else []
    good = [item for item in frame.items if item.row.failed is None]
    if any(value_of(i.row, name) is not None and share_of(i, name) is None for i in good for name in rates):
        notes.append("per device not known (?): RESULT_JSON states how many devices it used, as `used` of its devices")
    return notes


# -- cells ---------------------------------------------------------------------------------------------------


def decimals(column: MetricColumn, values: Iterable[float | None]) -> int | None:
    """The usual decimals of a metric in its usual unit; None when too few digits of a value would be left.

    A throughput of 0.0004 TF/s on a small machine must not be shown as 0.000.
    """
    quantity = known(column.name)
    if quantity.decimals is None or quantity.unit != column.unit or not column.comparable:
        return None
    smallest = min((abs(v) for v in values if v), default=math.inf)
    return quantity.decimals if smallest >= 10.0 ** (2 - quantity.decimals) else None


def cell_texts(column: MetricColumn, readings: Sequence[Reading | None], *, first: bool) -> list[str]:
    """The readings as text. The table's `first` metric says why a case failed."""
    total = decimals(column, [r.value for r in readings if r is not None])
    share = decimals(column, [r.per_device for r in readings if r is not None])

    def text(r: Reading | None) -> str:
        if r is None:
            return "—"
        if r.reported is not None:
            return f"{format_value(r.reported, decimals=total)} ({REPORTED})"
        if r.all_failed:
            why = failed_text(r.failed)
            return why if first else "—" if why == REPORTED else "failed"
        width = None if r.spread is None else r.spread[1] - r.spread[0]
        value, *ends = (format_value(v, decimals=total, spread=width) for v in (r.value, *(r.spread or ())))
        per_device = f" ({format_value(r.per_device, decimals=share)})" if column.per_device else ""
        unit = f" {r.unit}" if r.unit is not None and not column.comparable else ""
        return value + per_device + (f" [{', '.join(ends)}]" if ends else "") + unit

    return [text(reading) for reading in readings]
