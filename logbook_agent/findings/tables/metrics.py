"""Which metrics a table shows, and how their numbers are written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from logbook_agent.findings.cases import value_of
from logbook_agent.findings.tables.frame import Frame, Item, unknown
from logbook_agent.findings.tables.grid import PER_DEVICE, Reading, share_of
from logbook_agent.findings.tables.spec import TableSpec
from logbook_agent.model.errors import UsageError
from logbook_agent.model.gates import failed_text
from logbook_agent.model.header import Metric, metric_named
from logbook_agent.model.units import format_value, known
from logbook_agent.text.phrases import listed


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricColumn:
    """A metric of the table. `comparable` is False when its rows are not all in one unit."""

    name: str
    unit: str | None = None
    per_device: bool = False
    comparable: bool = True


def choose(frame: Frame, spec: TableSpec, declared: Sequence[Metric]) -> tuple[list[MetricColumn], list[str]]:
    """The metrics asked for, else the declared ones and those of rows without them; and notes."""
    notes: list[str] = []
    if spec.metrics:
        names = list(dict.fromkeys(spec.metrics))
        measured = [m for item in frame.items for m in item.row.metrics]
        observed = [o for item in frame.items for o in item.row.observations]
        _check(frame, names, list(dict.fromkeys([*measured, *observed, *(m.name for m in declared)])))
    else:
        expected = [m.name for m in declared if any(value_of(i.row, m.name) is not None for i in frame.items)]
        names = _reported(frame, spec, expected)
        absent = [m.name for m in declared if m.name not in names]
        if absent and expected:
            notes.append(f"declared, but in none of these rows: {', '.join(absent)}")
        if spec.per_device:
            names = [n for n in names if not (n.endswith(PER_DEVICE) and n.removesuffix(PER_DEVICE) in names)]
    columns = [_column(frame, name, spec, declared) for name in names]
    return columns, notes + _notes(frame, columns, spec)


def _reported(frame: Frame, spec: TableSpec, expected: Sequence[str]) -> list[str]:
    """The declared metrics that were measured, and those of rows that have none of them."""
    names = dict.fromkeys(expected)
    for item in frame.items:
        if item.row.failed is None and all(value_of(item.row, name) is None for name in expected):
            names.update(dict.fromkeys(_own(item, spec)))
    return list(names)


def _own(item: Item, spec: TableSpec) -> list[str]:
    """What a row reports: its metrics, or the observations when it has no metric."""
    metrics = [name for name, measurement in item.row.metrics.items() if measurement.samples]
    return metrics or [name for name, v in item.row.observations.items() if v is not None and name != spec.pivot]


def _check(frame: Frame, names: Iterable[str], existing: Sequence[str]) -> None:
    for name in names:
        if name in existing:
            continue
        if name in frame.axes():
            raise UsageError(
                f"{name!r} is not a metric of these rows",
                cause=f"it is an axis: something that tells rows apart. Metrics are: {listed(existing) or 'none'}",
                hint=f"--pivot {name}",
            )
        raise unknown("metric", name, existing, option="--metric")


def _column(frame: Frame, name: str, spec: TableSpec, declared: Sequence[Metric]) -> MetricColumn:
    units = _units(frame, name)
    unit = units[0] if units else metric_named(name, declared).unit
    return MetricColumn(
        name=name,
        unit=unit,
        per_device=spec.per_device
        and _divisible(frame, name, unit)
        and any(share_of(item, name) is not None for item in frame.items),
        comparable=len(units) <= 1,
    )


def _divisible(frame: Frame, name: str, unit: str | None) -> bool:
    """Whether a metric has a share per device: a rate has, and one that is reported per device."""
    if name.endswith(PER_DEVICE):
        return False
    reported = any(name + PER_DEVICE in {*i.row.metrics, *i.row.observations} for i in frame.items)
    return reported or (unit is not None and unit.endswith("/s"))


def _units(frame: Frame, name: str) -> list[str]:
    rows = [item.row.metrics[name] for item in frame.items if name in item.row.metrics]
    return list(dict.fromkeys(m.unit for m in rows if m.unit is not None))


def _notes(frame: Frame, columns: Sequence[MetricColumn], spec: TableSpec) -> list[str]:
    notes = []
    for c in columns:
        if not c.comparable:
            notes.append(f"{c.name} comes in several units ({', '.join(_units(frame, c.name))}): not compared")
        if spec.per_device and not c.name.endswith(PER_DEVICE) and not _divisible(frame, c.name, c.unit):
            notes.append(f"no {c.name} per device: its unit ({c.unit or 'not stated'}) is not a rate")
    if any(c.per_device for c in columns):
        notes.append("in brackets: per device")
    return notes + (_unshared(frame, columns) if spec.per_device else [])


def _unshared(frame: Frame, columns: Sequence[MetricColumn]) -> list[str]:
    """A note on metrics whose share per device is unknown, and how to report it."""
    measured = [i for i in frame.items if i.row.failed is None]
    names = [
        c.name
        for c in columns
        if _divisible(frame, c.name, c.unit)
        and any(value_of(i.row, c.name) is not None and share_of(i, c.name) is None for i in measured)
    ]
    if not names:
        return []
    sign = " (?)" if any(c.per_device for c in columns if c.name in names) else ""
    return [
        f"per device not known{sign}: the command did not report how many devices it used; it can report the "
        f"number as used of its devices in RESULT_JSON, or report {' and '.join(name + PER_DEVICE for name in names)}"
    ]


def heading(column: MetricColumn) -> str:
    """The name of a metric; with its unit where the name does not imply it."""
    if column.unit is None or column.unit == known(column.name).unit or not column.comparable:
        return column.name
    return f"{column.name} ({column.unit})"


def decimals(column: MetricColumn, values: Iterable[float | None], *, name: str | None = None) -> int | None:
    """The usual decimals of a metric in its usual unit; None when too few digits of a value would be left.

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
    """The readings as text. The table's `first` metric says why a case failed."""
    total = decimals(column, [r.value for r in readings if r is not None])
    share = decimals(column, [r.per_device for r in readings if r is not None], name=column.name + PER_DEVICE)
    texts = []
    for r in readings:
        if r is None:
            texts.append("—")
        elif r.all_failed:
            texts.append(failed_text(r.failed) if first else "failed")
        elif column.per_device:
            text = _value(r, total)
            texts.append(f"{text} ({format_value(r.per_device, decimals=share)}){_spread(r, total)}")
        else:
            unit = f" {r.unit}" if r.unit is not None and not column.comparable else ""
            texts.append(_value(r, total) + _spread(r, total) + unit)
    return texts


def _value(reading: Reading, decimals: int | None) -> str:
    return format_value(reading.value, decimals=decimals, spread=_width(reading))


def _width(reading: Reading) -> float | None:
    return None if reading.spread is None else reading.spread[1] - reading.spread[0]


def _spread(reading: Reading, decimals: int | None) -> str:
    if reading.spread is None:
        return ""
    low, high = (format_value(v, decimals=decimals, spread=_width(reading)) for v in reading.spread)
    return f" [{low}, {high}]"
