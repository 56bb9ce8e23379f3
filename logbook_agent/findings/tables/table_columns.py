"""The finished columns of a table: axes, metrics, deltas and ratios with their means."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from logbook_agent.findings.tables.frame import is_number, show
from logbook_agent.findings.tables.grid import Grid, Reading
from logbook_agent.findings.tables.metrics import MetricColumn, cell_texts
from logbook_agent.findings.tables.spec import Column, TableSpec
from logbook_agent.model.gates import failed_text
from logbook_agent.model.run import Scalar
from logbook_agent.model.units import format_delta

BASE = "base"
# The mean for ratios is the geometric one: Fleming and Wallace, "How not to lie with statistics: the correct way to
# summarize benchmark results", Communications of the ACM 29 (1986).
MEANS = ("arithmetic mean", "geometric mean")
Kind: TypeAlias = Literal["delta", "ratio"]
_KINDS: tuple[Kind, ...] = ("delta", "ratio")


class Strip(Struct, frozen=True, kw_only=True):
    """One finished column: its heading, and its cells as text and raw. `quotients` are those of a column of deltas or
    ratios (`kind`): other / base for each row that is not the base, None where it is unknown."""

    column: Column
    texts: list[str]
    values: list[Scalar]
    kind: Kind | None = None
    quotients: tuple[float | None, ...] = ()

    def mean(self, name: str) -> tuple[str, Scalar]:
        """One of the `MEANS` over the rows, as text and raw; empty where the column has no quotients."""
        return ("", None) if self.kind is None else _cell(self.kind, _mean(name, self.quotients))


def _mean(name: str, quotients: Sequence[float | None]) -> float | None:
    """None when no quotient is known or the mean does not exist. The mean of deltas is that of the quotients less one:
    deltas may be negative, and have no geometric mean of their own."""
    known = [q for q in quotients if q is not None]
    if not known or (name != MEANS[0] and min(known) <= 0):
        return None
    if name == MEANS[0]:
        return math.fsum(known) / len(known)
    return math.exp(math.fsum(map(math.log, known)) / len(known))


def _cell(kind: Kind, quotient: float | None) -> tuple[str, float | None]:
    """`+7.50%` and 0.075 for a delta, `1.08x` and 1.075 for a ratio, `?` and None for what cannot be said."""
    if quotient is None:
        return "?", None
    if kind == "delta":
        return format_delta(1.0, quotient), quotient - 1
    return f"{quotient:.2f}x" if abs(quotient) >= 0.1 else f"{quotient:.3g}x", quotient


def axis_strip(grid: Grid, name: str, *, is_label: bool) -> Strip:
    """A column with the values of an axis, each as it was first spelt."""
    spelt: dict[str | None, Scalar] = {}
    for row in grid.rows:
        spelt.setdefault(row[0].key(name), row[0].place.get(name))
    values = [spelt[row[0].key(name)] for row in grid.rows]
    stated = [value for value in values if value is not None]
    is_fact = any(name in row[0].facts for row in grid.rows)
    numeric = bool(stated) and not is_fact and all(map(is_number, stated))
    # Most rows of a sweep have no label, and lack nothing.
    texts = ["" if value is None and is_label else show(value) for value in values]
    return Strip(column=Column(name=name, numeric=numeric), texts=texts, values=values)


def metric_strips(
    grid: Grid, metric: MetricColumn, readings: Sequence[Sequence[Reading | None]], spec: TableSpec, *, first: bool
) -> Iterator[Strip]:
    """The columns of one metric: one for each pivot value, then its deltas and ratios."""
    texts = iter(cell_texts(metric, [reading for column in readings for reading in column], first=first))
    for pivot, column in zip(grid.pivots, readings, strict=True):
        yield Strip(
            column=Column(name=metric.heading + _at(grid, pivot), numeric=True, unit=metric.unit),
            texts=[next(texts) for _ in column],
            values=[_value(reading) for reading in column],
        )
    for kind in _KINDS:
        if metric.comparable and getattr(spec, kind):
            yield from _compared(grid, metric.name, readings, kind)


def _at(grid: Grid, pivot: str | None) -> str:
    """` @0.1` behind a heading; ` @ ep` with a blank, since GitHub would take `@ep` for a name and notify its owner."""
    if pivot is None:
        return ""
    decimals = all(is_number(value) and "." in (value or "") for value in grid.pivots)
    return f" @{pivot}" if decimals else f" @ {pivot}"


def _value(reading: Reading | None) -> Scalar:
    if reading is not None and reading.all_failed:
        return failed_text(reading.failed)
    return None if reading is None else reading.value


def _compared(grid: Grid, metric: str, readings: Sequence[Sequence[Reading | None]], kind: Kind) -> Iterator[Strip]:
    """Every other pivot column over the base; without a pivot, every row over the first."""
    by_row = grid.pivots == (None,)
    base = [readings[0][0]] * len(grid.rows) if by_row else readings[0]
    others = [0] if by_row else range(1, len(readings))
    for column in others:
        pivot = grid.pivots[column]
        name = f"delta {metric}" + (_at(grid, pivot) if len(others) > 1 else "")
        if kind == "ratio":
            name = f"ratio {metric}" if pivot is None else f"{metric} {pivot}/{grid.pivots[0]}"
        quotients = list(map(_quotient, base, readings[column]))
        cells = [_cell(kind, q) for q in quotients]
        if by_row:
            cells[0] = BASE, None
        yield Strip(
            column=Column(name=name, numeric=True),
            texts=[text for text, _ in cells],
            values=[value for _, value in cells],
            kind=kind,
            quotients=tuple(quotients[by_row:]),
        )


def _quotient(base: Reading | None, other: Reading | None) -> float | None:
    """other / base; None unless both are finite numbers and the base is positive."""
    if base is None or other is None or base.value is None or other.value is None or base.value <= 0:
        return None
    quotient = other.value / base.value
    return quotient if math.isfinite(quotient) and math.isfinite(base.value) else None


def failure_strip(grid: Grid) -> Strip:
    """A column with what became of the cases, where there is no metric at all."""
    reasons = []
    for row in grid.rows:
        failed = [item.row.failed.reason for item in row if item.row.failed is not None]
        reasons.append(failed_text(failed) if failed else "no metric")
    return Strip(column=Column(name="result"), texts=reasons, values=list(reasons))
