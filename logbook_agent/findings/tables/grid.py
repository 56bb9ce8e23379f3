"""The rows and pivot columns of a table, which cases fall into each cell, and the value that a cell has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from logbook_agent.findings.cases import value_of
from logbook_agent.findings.tables.frame import Frame, Item, by, show, unknown, used_devices
from logbook_agent.findings.tables.spec import TableSpec
from logbook_agent.model.errors import UsageError
from logbook_agent.model.stats import median
from logbook_agent.text.natural_order import Key, natural_key
from logbook_agent.text.phrases import counted

PER_DEVICE = "_per_device"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A median over runs of the medians of their samples, in the metric's own unit; None: not reported.

    Values in several units have no median; `unit` is that of all, as far as they say.
    `spread` are the lowest and highest of the runs when there are several.
    `samples` are the numbers of samples of each run that counts, `failed` the reasons of those that do not.
    """

    value: float | None = None
    unit: str | None = None
    spread: tuple[float, float] | None = None
    per_device: float | None = None
    runs: int = 0
    samples: tuple[int, ...] = ()
    failed: tuple[str, ...] = ()

    @property
    def all_failed(self) -> bool:
        return bool(self.failed) and len(self.failed) == self.runs


def read(items: Sequence[Item], metric: str, declared: str | None = None) -> Reading:
    """The value of a metric, or of an observation by that name, over the repeats in one cell. Of values in several
    units, those in the declared one count."""
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
    values = [value for item in good if (value := value_of(item.row, metric)) is not None]
    return Reading(
        value=_over_runs(values),
        unit=next(iter(units), None),
        spread=(min(values), max(values)) if len(values) > 1 else None,
        per_device=_over_runs([share_of(item, metric) for item in good]),
        runs=len(items),
        samples=samples,
        failed=failed,
    )


def share_of(item: Item, metric: str) -> float | None:
    """A metric per used device: as the command reported it, else the total over the used devices."""
    reported = value_of(item.row, metric + PER_DEVICE)
    if reported is not None:
        return reported
    total, used = value_of(item.row, metric), used_devices(item.row.devices)
    return None if total is None or used is None else total / used


def _over_runs(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """`rows` hold the items of one row each; `pivots` are the pivot values as text, `(None,)` without one.

    A cell is (row, column). `base` and `last` are columns. `units` are the declared ones of metrics.
    """

    rows: tuple[tuple[Item, ...], ...]
    pivots: tuple[str | None, ...]
    cells: dict[tuple[int, int], list[Item]]
    base: int = 0
    units: Mapping[str, str | None] = field(default_factory=dict)
    # Columns, notes and samples all ask for them.
    _read_before: dict[str, list[list[Reading | None]]] = field(default_factory=dict)

    @property
    def last(self) -> int:
        """The last pivot value that is not the base."""
        final = len(self.pivots) - 1
        return final - 1 if final == self.base and final > 0 else final

    def readings(self, metric: str) -> list[list[Reading | None]]:
        """The readings of a metric, column by column; None where nothing was run."""
        rows = range(len(self.rows))
        if metric not in self._read_before:
            self._read_before[metric] = [
                [
                    read(self.cells[at], metric, self.units.get(metric))
                    if (at := (row, column)) in self.cells
                    else None
                    for row in rows
                ]
                for column in range(len(self.pivots))
            ]
        return self._read_before[metric]


def choose_values(frame: Frame, spec: TableSpec) -> tuple[Frame, list[str | None], list[str]]:
    """The frame with the shown pivot values alone, these values in order, and notes."""
    if spec.pivot is None:
        return frame, [None], []
    pivot = spec.pivot
    present = list(dict.fromkeys(item.key(pivot) for item in frame.items))
    shown = [_find(frame, pivot, value, "--value") for value in spec.values] or present
    if spec.base is not None and (base := _find(frame, pivot, spec.base, "--base")) not in shown:
        shown.insert(0, base)
    notes = []
    if spec.first_last and len(shown) > 2:
        first = shown[0] if spec.base is None else _find(frame, pivot, spec.base, "--base")
        last = next(value for value in reversed(shown) if value != first)
        left_out = len(shown) - 2
        shown = [first, last]
        notes.append(f"{counted(left_out, 'other value')} of {pivot} not shown")
    if len(shown) < len(present):
        frame = frame.only(item for item in frame.items if item.key(pivot) in shown)
    return frame, list(dict.fromkeys(shown)), notes


def lay_cells(frame: Frame, spec: TableSpec, axes: Sequence[str], shown: Sequence[str | None]) -> Grid:
    """Every case in its cell, rows in the order they ran, but for entries with a random order."""
    rows = _in_order(frame, by(frame.items, lambda item: item.keys(axes)), axes, spec.drawn)
    if spec.pivot is None:
        cells = {(number, 0): items for number, items in enumerate(rows.values())}
        return Grid(rows=tuple(map(tuple, rows.values())), pivots=(None,), cells=cells)
    pivot = spec.pivot
    column = {value: number for number, value in enumerate(shown)}
    cells = {}
    for number, items in enumerate(rows.values()):
        for item in items:
            cells.setdefault((number, column[item.key(pivot)]), []).append(item)
    texts = _texts(frame, pivot)
    base = 0 if spec.base is None else column[_find(frame, pivot, spec.base, "--base")]
    pivots = tuple(texts[value] for value in shown)
    return Grid(rows=tuple(map(tuple, rows.values())), pivots=pivots, cells=cells, base=base)


RowKey = tuple[str | None, ...]


def _in_order(
    frame: Frame, rows: dict[RowKey, list[Item]], axes: Sequence[str], drawn: frozenset[str]
) -> dict[RowKey, list[Item]]:
    """The rows, of which those of each entry with a random order are sorted by config, then by the other axes, within
    the places that they have together."""
    if not drawn:
        return rows
    names = [*(name for name in frame.config if name in axes), *(name for name in axes if name not in frame.config)]
    keys: dict[str, list[RowKey]] = {}
    for key, items in rows.items():
        keys.setdefault(items[0].case.entry, []).append(key)
    for entry in drawn & keys.keys():
        keys[entry].sort(key=lambda key: [_rank(rows[key][0].key(name)) for name in names])
    following = {entry: iter(own) for entry, own in keys.items()}
    order = [next(following[items[0].case.entry]) for items in rows.values()]
    return {key: rows[key] for key in order}


def _rank(value: str | None) -> tuple[bool, Key]:
    """A sort key of an axis value: natural order, and no value last."""
    return value is None, natural_key(value or "")


def unequal_rows(frame: Frame, axes: Sequence[str], pivot: str | None) -> str:
    """`3 rows a run against 2`, if only their order or an undeclared number tells the rows of a run apart, and the
    columns have different numbers of them: the first row of one run need not be the first of another. Else empty."""
    numbers = {name for item in frame.items for name in item.row.observations} | {frame.pseudo["row"]}
    loose = [name for name in axes if name in numbers]
    if pivot is None or not loose:
        return ""
    names = [name for name in axes if name not in loose]
    for items in by(frame.items, lambda item: item.keys(names)).values():
        sides = by(items, lambda item: item.key(pivot))
        counts = {len({i.keys(loose) for i in side}) for side in sides.values()}
        if len(counts) > 1:
            return f"{max(counts)} rows a run against {min(counts)}"
    return ""


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


def check_pivot(spec: TableSpec) -> None:
    """Raise UsageError for options that contradict each other."""
    pairs = (
        ("--value", spec.values),
        ("--first-last", spec.first_last),
        ("--base", spec.base is not None),
        ("--each", spec.each),
    )
    lost = [name for name, given in pairs if given]
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
