"""The finished columns of a table: axes, metrics, deltas and ratios with their means, samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from logbook_agent.findings.tables.frame import is_number, show
from logbook_agent.findings.tables.grid import Grid, Reading
from logbook_agent.findings.tables.metrics import MetricColumn, cell_texts, heading
from logbook_agent.findings.tables.spec import Column, TableSpec
from logbook_agent.model.gates import failed_text
from logbook_agent.model.run import Scalar
from logbook_agent.model.units import format_delta

Kind = Literal["delta", "ratio"]
BASE = "base"

Readings = Sequence[Reading | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnComparison:
    """A column of deltas or ratios: last / base for each row, None where it is unknown.

    `base_row` is the row that the others are compared with, when rows are compared and not columns.
    """

    name: str
    kind: Kind
    quotients: tuple[float | None, ...]
    base_row: int | None = None

    def text(self, row: int) -> str:
        if row == self.base_row:
            return BASE
        return self.format(self.quotients[row])

    def format(self, quotient: float | None) -> str:
        """`+7.50%` for a delta, `1.08x` for a ratio, `?` for what cannot be said."""
        if quotient is None:
            return "?"
        if self.kind == "delta":
            return format_delta(1.0, quotient)
        return f"{quotient:.2f}x" if abs(quotient) >= 0.1 else f"{quotient:.3g}x"

    def raw(self, quotient: float | None) -> float | None:
        if quotient is None or self.kind == "ratio":
            return quotient
        return quotient - 1

    def counted(self) -> list[float | None]:
        """The quotients of the rows that are not the base."""
        return [q for row, q in enumerate(self.quotients) if row != self.base_row]


def compared(name: str, kind: Kind, base: Readings, last: Readings, *, base_row: int | None = None) -> ColumnComparison:
    """The comparison of two columns, row by row."""
    quotients = tuple(quotient(a, b) for a, b in zip(base, last, strict=True))
    return ColumnComparison(name=name, kind=kind, quotients=quotients, base_row=base_row)


def quotient(base: Reading | None, last: Reading | None) -> float | None:
    """last / base; None unless both are finite numbers and the base is positive."""
    if base is None or last is None or base.value is None or last.value is None:
        return None
    if not (math.isfinite(base.value) and math.isfinite(last.value)) or base.value <= 0:
        return None
    found = last.value / base.value
    return found if math.isfinite(found) else None


# The mean for ratios is the geometric one: Fleming and Wallace, "How not to lie with statistics: the correct way to
# summarize benchmark results", Communications of the ACM 29 (1986).
MEANS = ("arithmetic mean", "geometric mean")


def mean_of(comparison: ColumnComparison, mean: str) -> float | None:
    """One of the `MEANS` of a comparison's quotients; None when none is known or the mean does not exist.

    The mean of deltas is the mean of the quotients less one, which for the geometric mean is the only
    one that exists: deltas may be negative.
    """
    known = [q for q in comparison.counted() if q is not None]
    if not known:
        return None
    # `statistics` takes 10 ms to import, and only means need it.
    import statistics

    try:
        return statistics.fmean(known) if mean == MEANS[0] else statistics.geometric_mean(known)
    except ValueError:
        return None


def mean_notes(comparisons: Sequence[ColumnComparison]) -> list[str]:
    """Notes on how many rows a mean leaves out."""
    notes = []
    for c in comparisons:
        values = c.counted()
        unknown = sum(q is None for q in values)
        if unknown:
            notes.append(f"means of {c.name}: over {len(values) - unknown} of {len(values)} rows")
    return notes


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """One finished column: its heading, and its cells as text and raw."""

    column: Column
    texts: list[str]
    values: list[Scalar]
    comparison: ColumnComparison | None = None


def axis_strip(grid: Grid, name: str, *, is_label: bool) -> Strip:
    spelt: dict[str | None, Scalar] = {}
    for row in grid.rows:
        spelt.setdefault(row[0].key(name), row[0].place.get(name))
    values = [spelt[row[0].key(name)] for row in grid.rows]
    stated = [value for value in values if value is not None]
    is_fact = any(name in row[0].facts for row in grid.rows)
    numeric = bool(stated) and not is_fact and all(is_number(value) for value in stated)
    # Most rows of a sweep have no label, and lack nothing.
    texts = ["" if value is None and is_label else show(value) for value in values]
    return Strip(column=Column(name=name, numeric=numeric), texts=texts, values=values)


def metric_strips(grid: Grid, metrics: Sequence[MetricColumn], spec: TableSpec) -> list[Strip]:
    strips: list[Strip] = []
    for number, metric in enumerate(metrics):
        readings = grid.readings(metric.name)
        flat = [reading for column in readings for reading in column]
        texts = cell_texts(metric, flat, first=number == 0)
        height = len(grid.rows)
        for column, pivot in enumerate(grid.pivots):
            name = heading(metric) + _at(grid, pivot)
            strips.append(
                Strip(
                    column=Column(name=name, numeric=True, unit=metric.unit),
                    texts=texts[column * height : (column + 1) * height],
                    values=[_raw(reading) for reading in readings[column]],
                )
            )
        strips += [_compared(c) for c in _comparisons(grid, metric, readings, spec)]
    return strips


def _at(grid: Grid, pivot: str | None) -> str:
    """` @0.1` behind a heading; ` @ ep` with a blank, since GitHub would take `@ep` for a name and notify its owner."""
    if pivot is None:
        return ""
    decimals = all(is_number(value) and "." in (value or "") for value in grid.pivots)
    return f" @{pivot}" if decimals else f" @ {pivot}"


def _raw(reading: Reading | None) -> Scalar:
    if reading is not None and reading.all_failed:
        return failed_text(reading.failed)
    return None if reading is None else reading.value


def _comparisons(
    grid: Grid, metric: MetricColumn, readings: Sequence[Sequence[Reading | None]], spec: TableSpec
) -> list[ColumnComparison]:
    if not metric.comparable:
        return []
    kinds: list[Kind] = ["delta"] if spec.delta else []
    kinds += ["ratio"] if spec.ratio else []
    if spec.pivot is None:
        own = readings[0]
        first = [own[0]] * len(own)
        return [compared(f"{kind} {metric.name}", kind, first, own, base_row=0) for kind in kinds]
    found = []
    others = [c for c in range(len(grid.pivots)) if c != grid.base]
    for kind in kinds:
        every = kind == "ratio" or spec.each
        for c in others if every else [c for c in others if c == grid.last]:
            if kind == "ratio":
                name = f"{metric.name} {grid.pivots[c]}/{grid.pivots[grid.base]}"
            else:
                name = f"delta {metric.name}" + (_at(grid, grid.pivots[c]) if spec.each else "")
            found.append(compared(name, kind, readings[grid.base], readings[c]))
    return found


def _compared(c: ColumnComparison) -> Strip:
    rows = range(len(c.quotients))
    return Strip(
        column=Column(name=c.name, numeric=True),
        texts=[c.text(row) for row in rows],
        values=[None if row == c.base_row else c.raw(c.quotients[row]) for row in rows],
        comparison=c,
    )


def failure_strips(grid: Grid) -> list[Strip]:
    """A column with what became of the cases, where there is no metric at all."""
    reasons = []
    for row in grid.rows:
        failed = [item.row.failed.reason for item in row if item.row.failed is not None]
        reasons.append(failed_text(failed) if failed else "no metric")
    return [Strip(column=Column(name="result"), texts=reasons, values=list(reasons))]


def sample_strips(grid: Grid, metrics: Sequence[MetricColumn]) -> list[Strip]:
    """A column with the numbers of samples, when they differ between the rows of a table without pivot."""
    counts: list[set[int]] = [set() for _ in grid.rows]
    for metric in metrics:
        for row, reading in enumerate(grid.readings(metric.name)[0]):
            counts[row].update(reading.samples if reading is not None else ())
    known = [count for count in counts if count]
    if not known or all(count == known[0] for count in known):
        return []
    texts = ["—" if not c else str(min(c)) if len(c) == 1 else f"{min(c)} to {max(c)}" for c in counts]
    values: list[Scalar] = [
        min(c) if len(c) == 1 else text if c else None for c, text in zip(counts, texts, strict=True)
    ]
    return [Strip(column=Column(name="samples", numeric=True), texts=texts, values=values)]
