"""Which metrics a table shows, and how their numbers are written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from logbook_agent.errors import UsageError
from logbook_agent.model.header import Metric
from logbook_agent.tables.frame import Frame, unknown
from logbook_agent.tables.reading import PER_DEVICE, Reading
from logbook_agent.tables.spec import TableSpec
from logbook_agent.units import format_value, known


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricColumn:
    """A metric of the table. `comparable` is False when its rows are not all in one unit."""

    name: str
    unit: str | None = None
    per_device: bool = False
    comparable: bool = True


def choose(frame: Frame, spec: TableSpec, declared: Sequence[Metric]) -> tuple[list[MetricColumn], list[str]]:
    """The metrics asked for, else the declared ones that were measured, else all; and notes on them."""
    measured = list(dict.fromkeys(m for item in frame.items for m in item.row.metrics))
    observed = list(dict.fromkeys(o for item in frame.items for o in item.row.observations))
    notes: list[str] = []
    if spec.metrics:
        names = list(dict.fromkeys(spec.metrics))
        _check(frame, names, [*measured, *observed, *(m.name for m in declared)])
    else:
        names = [m.name for m in declared if m.name in measured or m.name in observed]
        absent = [m.name for m in declared if m.name not in names]
        if absent and names:
            notes.append(f"declared, but in none of these rows: {', '.join(absent)}")
        names = names or measured or [o for o in observed if o not in spec.axes and o != spec.pivot]
        if spec.per_device:
            names = [n for n in names if not _is_share(n, names)]
    columns = [_column(frame, name, spec, declared) for name in names]
    return columns, notes + _notes(frame, columns, spec)


def _check(frame: Frame, names: Iterable[str], existing: Sequence[str]) -> None:
    for name in names:
        if name in existing:
            continue
        if name in frame.axes():
            raise UsageError(
                f"{name!r} is no metric of these rows",
                cause="it is something that tells rows apart: an axis",
                hint=f"show it as an axis, and choose metrics among: {', '.join(dict.fromkeys(existing))}",
            )
        raise unknown("metric", name, existing)


def _is_share(name: str, names: Sequence[str]) -> bool:
    return name.endswith(PER_DEVICE) and name.removesuffix(PER_DEVICE) in names


def _column(frame: Frame, name: str, spec: TableSpec, declared: Sequence[Metric]) -> MetricColumn:
    units = _units(frame, name)
    stated = next((m.unit for m in declared if m.name == name and m.unit), None)
    unit = units[0] if units else stated or known(name).unit
    reported = any(name + PER_DEVICE in {*i.row.metrics, *i.row.observations} for i in frame.items)
    rate = unit is not None and unit.endswith("/s")
    share = spec.per_device and not name.endswith(PER_DEVICE) and (rate or reported)
    return MetricColumn(name=name, unit=unit, per_device=share, comparable=len(units) <= 1)


def _units(frame: Frame, name: str) -> list[str]:
    rows = [item.row.metrics[name] for item in frame.items if name in item.row.metrics]
    return list(dict.fromkeys(m.unit for m in rows if m.unit is not None))


def _notes(frame: Frame, columns: Sequence[MetricColumn], spec: TableSpec) -> list[str]:
    notes = []
    for c in columns:
        if not c.comparable:
            notes.append(f"{c.name} comes in several units ({', '.join(_units(frame, c.name))}): not compared")
        if spec.per_device and not c.per_device and not c.name.endswith(PER_DEVICE):
            notes.append(f"no {c.name} per device: its unit ({c.unit or 'not stated'}) is not a rate")
    if any(c.per_device for c in columns):
        notes.append("in brackets: per device")
    return notes


def heading(column: MetricColumn) -> str:
    """The name of a metric; with its unit where the name does not imply it."""
    if column.unit is None or column.unit == known(column.name).unit or not column.comparable:
        return column.name
    return f"{column.name} ({column.unit})"


def decimals(column: MetricColumn, values: Iterable[float | None], *, name: str | None = None) -> int | None:
    """The usual decimals of a metric in its usual unit; None when they would leave too little of a value.

    A throughput of 0.0004 TF/s on a small machine must not be shown as 0.000.
    """
    quantity = known(name or column.name)
    if quantity.decimals is None:
        quantity = known(column.name)
    if quantity.decimals is None or quantity.unit != column.unit or not column.comparable:
        return None
    smallest = min((abs(v) for v in values if v), default=math.inf)
    return quantity.decimals if smallest >= 10.0 ** (2 - quantity.decimals) else None


def cell_texts(column: MetricColumn, readings: Sequence[Reading | None], *, first: bool) -> list[str]:
    """How readings are written; `first`: this is the table's first metric, which says why a case failed."""
    total = decimals(column, [r.value for r in readings if r is not None])
    share = decimals(column, [r.per_device for r in readings if r is not None], name=column.name + PER_DEVICE)
    texts = []
    for r in readings:
        if r is None:
            texts.append("—")
        elif r.all_failed:
            texts.append(f"failed: {' / '.join(dict.fromkeys(r.failed))}" if first else "failed")
        elif column.per_device:
            text = format_value(r.value, decimals=total)
            texts.append(f"{text} ({format_value(r.per_device, decimals=share)}){_spread(r, total)}")
        else:
            texts.append(format_value(r.value, decimals=total) + _spread(r, total))
    return texts


def _spread(reading: Reading, decimals: int | None) -> str:
    if reading.spread is None:
        return ""
    low, high = (format_value(v, decimals=decimals) for v in reading.spread)
    return f" [{low}, {high}]"
