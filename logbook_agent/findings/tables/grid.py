"""The rows and pivot columns of a table, which cases fall into each cell, and the value that a cell has."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct

from logbook_agent.findings.cases import value_of
from logbook_agent.findings.tables.frame import Frame, Item, by, is_number, show, unknown, used_devices
from logbook_agent.findings.tables.spec import TableSpec
from logbook_agent.model.errors import UsageError
from logbook_agent.model.gates import REPORTED
from logbook_agent.model.stats import median
from logbook_agent.model.units import common
from logbook_agent.text.commands.flags import Key, natural_key

# Values of a pivot that stand for the plain case.
_PLAIN = ("none", "off", "false", "no", "base", "baseline", "default")


class Reading(Struct, frozen=True, kw_only=True):
    """A median over runs of the medians of their samples, in the metric's own unit; None: not reported.

    Values in several units have no median; `unit` is that of all, as far as they say.
    `spread` are the lowest and highest of the runs when there are several.
    `samples` are the numbers of samples of each run that counts, `failed` the reasons of those that do not. `reported`:
    what an imported source says, where nothing else was measured.
    """

    value: float | None = None
    unit: str | None = None
    spread: tuple[float, float] | None = None
    per_device: float | None = None
    runs: int = 0
    samples: tuple[int, ...] = ()
    failed: tuple[str, ...] = ()
    reported: float | None = None

    @property
    def all_failed(self) -> bool:
        return bool(self.failed) and len(self.failed) == self.runs


def read(items: Sequence[Item], metric: str, declared: str | None = None) -> Reading:
    """The value of a metric, or of an observation by that name, over the repeats in one cell. Of values in several
    units, those in the declared one count."""
    good = [item for item in items if item.row.failed is None]
    failed = tuple(item.row.failed.reason for item in items if item.row.failed is not None)
    said = [item.row for item in items if item.row.failed is not None and item.row.failed.reason == REPORTED]
    reported = [value for row in said if (value := value_of(row, metric)) is not None]
    measured = [m for item in good if (m := item.row.metrics.get(metric)) is not None]
    samples = tuple(len(m.samples) for m in measured if m.samples)
    units = {m.unit for m in measured}
    kept = common(units, declared)
    if units and not kept:
        return Reading(runs=len(items), samples=samples, failed=failed)
    good = [i for i in good if (m := i.row.metrics.get(metric)) is None or m.unit in kept]
    values = [value for item in good if (value := value_of(item.row, metric)) is not None]
    shares = [share for item in good if (share := share_of(item, metric)) is not None]
    return Reading(
        value=median(values) if values else None,
        unit=next((unit for unit in kept if unit is not None), None),
        spread=(min(values), max(values)) if len(values) > 1 else None,
        per_device=median(shares) if shares else None,
        runs=len(items),
        samples=samples,
        failed=failed,
        reported=median(reported) if reported and not values else None,
    )


def share_of(item: Item, metric: str) -> float | None:
    """A metric over the devices that were used; None where one of the two is not known."""
    total, used = value_of(item.row, metric), used_devices(item.row.devices)
    return None if total is None or used is None else total / used


class Grid(Struct, frozen=True, kw_only=True):
    """`rows` hold the items of one row each, and `cells` the same items by the columns of the row: `pivots` are their
    values as text, the base first, and `(None,)` without a pivot."""

    rows: tuple[tuple[Item, ...], ...]
    pivots: tuple[str | None, ...]
    cells: tuple[tuple[tuple[Item, ...], ...], ...]

    @property
    def filled(self) -> list[tuple[Item, ...]]:
        """The cells in which something was run."""
        return [cell for row in self.cells for cell in row if cell]

    def readings(self, metric: str, unit: str | None) -> list[list[Reading | None]]:
        """The readings of a metric with its declared unit, column by column; None where nothing was run."""
        columns = zip(*self.cells, strict=True)
        return [[read(cell, metric, unit) if cell else None for cell in column] for column in columns]


def lay_cells(frame: Frame, pivot: str | None, axes: Sequence[str], shown: Sequence[str | None]) -> Grid:
    """Every case in its cell."""
    rows = _in_order(frame, [*by(frame.items, lambda item: item.keys(axes)).values()], axes)
    texts = _texts(frame, pivot) if pivot is not None else {}

    def cell(row: Sequence[Item], value: str | None) -> tuple[Item, ...]:
        return tuple(item for item in row if pivot is None or item.key(pivot) == value)

    return Grid(
        rows=tuple(map(tuple, rows)),
        pivots=tuple(map(texts.get, shown)),
        cells=tuple(tuple(cell(row, value) for value in shown) for row in rows),
    )


def _in_order(frame: Frame, rows: list[list[Item]], axes: Sequence[str]) -> list[list[Item]]:
    """The rows by their entries, in the order they ran; those of an entry with a random order by config, then by the
    other axes."""
    if not any(row[0].case.shuffled for row in rows):
        return rows
    entries = list(dict.fromkeys(row[0].case.entry for row in rows))
    names = sorted(axes, key=lambda name: frame.config.index(name) if name in frame.config else len(frame.config))

    def place(row: list[Item]) -> tuple[int, list[tuple[bool, Key]]]:
        values = map(row[0].key, names) if row[0].case.shuffled else ()
        return entries.index(row[0].case.entry), [(value is None, natural_key(value or "")) for value in values]

    return sorted(rows, key=place)


# -- the values of a pivot -----------------------------------------------------------------------------------


def choose_values(frame: Frame, spec: TableSpec) -> tuple[Frame, list[str | None]]:
    """The frame with the shown pivot values alone, and these values in order.

    A base that is stated comes first. Where columns are compared, so does what is absent or plain (`none`, `off`,
    `false`), else the least: it does not depend on which side ran first.
    """
    if spec.pivot is None:
        return frame, [None]
    pivot, texts = spec.pivot, _texts(frame, spec.pivot)
    shown = list(dict.fromkeys(_find(frame, pivot, value, "--value") for value in spec.values)) or _sorted(texts)
    base = shown[0]
    if spec.base is not None:
        base = _find(frame, pivot, spec.base, "--base")
    elif not spec.values and (spec.delta or spec.ratio or spec.first_last):
        base = min(shown, key=lambda key: (key is not None, _rank(texts[key])))
    shown = [base, *(value for value in shown if value != base)]
    if spec.first_last:
        shown = [base, *shown[1:][-1:]]
    return frame.only(item for item in frame.items if item.key(pivot) in shown), shown


def _sorted(texts: Mapping[str | None, str]) -> list[str | None]:
    """Numbers by size; else in order of appearance."""
    if all(key is None or is_number(text) for key, text in texts.items()):
        return sorted(texts, key=lambda key: (key is not None, _rank(texts[key])))
    return [*texts]


def _rank(text: str) -> tuple[bool, bool, float, Key]:
    """Plain values first, then numbers by size, then words."""
    number = float(text) if is_number(text) else math.inf
    return text.casefold() not in _PLAIN, not is_number(text), number, natural_key(text)


def _texts(frame: Frame, pivot: str) -> dict[str | None, str]:
    """Every pivot value as it was first spelt, by its key."""
    texts: dict[str | None, str] = {}
    for item in frame.items:
        texts.setdefault(item.key(pivot), show(item.place.get(pivot)))
    return texts


def _find(frame: Frame, pivot: str, value: str, option: str) -> str | None:
    found, texts = frame.key_of(pivot, value), _texts(frame, pivot)
    if found not in texts:
        raise unknown(f"value of {pivot}", value, texts.values(), option=option)
    return found


def check_options(spec: TableSpec) -> None:
    """Raise UsageError for options that contradict each other."""
    of_pivot = {"--value": spec.values, "--first-last": spec.first_last, "--base": spec.base is not None}
    lost = [name for name, given in of_pivot.items() if given]
    if spec.pivot is None and lost:
        raise UsageError(
            f"{' and '.join(lost)} without --pivot",
            cause="they choose among the columns that a pivot makes",
            hint="name the axis to pivot on: --pivot KEY",
        )
    if spec.means and not (spec.delta or spec.ratio):
        raise UsageError(
            "--means without --delta or --ratio",
            cause="means are taken of deltas or ratios, never of the metrics of unlike rows",
            hint="--means --delta",
        )
