"""Deltas and ratios of a table, and their means over its rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from logbook_agent.findings.tables.reading import Reading
from logbook_agent.model.units import format_delta

Kind = Literal["delta", "ratio"]
BASE = "base"

Readings = Sequence[Reading | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnComparison:
    """One column of deltas or ratios: last / base for each row, None where it cannot be said.

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
    """The second column against the first, row by row."""
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
    """How many rows a mean leaves out, for those that leave out some."""
    notes = []
    for c in comparisons:
        values = c.counted()
        unknown = sum(q is None for q in values)
        if unknown:
            notes.append(f"means of {c.name}: over {len(values) - unknown} of {len(values)} rows")
    return notes
