"""What a table is asked for, and the table."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field, to_builtins

from logbook_agent.findings.cases import Case
from logbook_agent.model.run import Scalar


class TableSpec(Struct, frozen=True, kw_only=True):
    """What a table is to show.

    An axis is a config key, a label or observation of the rows, a fact of their runs (`commit`, `env:NAME`), or
    one of `entry`, `run`, `label`, `state`, `devices`.

    metrics     metrics or observations, in this order; empty: the declared ones, else all of the rows
    pivot       the axis whose values become columns
    values      the pivot values to show, in this order; empty: all, numbers by size, else in order of appearance
    first_last  only the first (or `base`) and the last pivot value
    base        the pivot value that deltas and ratios are against; None: the first of `values`, else a plain or the
                least one
    delta       change in percent of every pivot column from the base; without a pivot, of every row from the first
    ratio       every pivot column over the base; without a pivot, every row over the first
    per_device  a rate's share per used device, in brackets after the total
    means       arithmetic and geometric mean of the deltas and ratios over the rows
    implied     keys that may differ between the pivot values of one row, because the pivot implies them
    where       only the rows with these values
    """

    metrics: tuple[str, ...] = ()
    pivot: str | None = None
    values: tuple[str, ...] = ()
    first_last: bool = False
    base: str | None = None
    delta: bool = False
    ratio: bool = False
    per_device: bool = False
    means: bool = False
    implied: tuple[str, ...] = ()
    where: Mapping[str, str] = field(default_factory=dict)


class Column(Struct, frozen=True, kw_only=True):
    """A heading; numeric columns are aligned to the right. `unit` is that of the raw values."""

    name: str
    numeric: bool = False
    unit: str | None = None


class Table(Struct, frozen=True, kw_only=True):
    """`rows` as a reader sees them; `values` the same cells raw and in full precision.

    A raw delta is a fraction (+7.5% is 0.075), a raw ratio a quotient, an unknown or missing cell None.
    `constants` is the config that all rows share. `notes` are what the cells cannot say. The first `axes` columns tell
    the rows apart; `cases` are those of each row but the means.
    """

    columns: tuple[Column, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    values: tuple[tuple[Scalar, ...], ...] = ()
    constants: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    axes: int = 0
    cases: tuple[tuple[Case, ...], ...] = ()

    def data(self) -> dict[str, object]:
        """The table for machines: its texts (`rows`) and their numbers (`values`)."""
        return {
            "columns": list(map(to_builtins, self.columns)),
            "rows": list(map(list, self.rows)),
            "values": list(map(list, self.values)),
            "constants": self.constants,
            "notes": list(self.notes),
        }
