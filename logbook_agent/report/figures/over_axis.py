"""The cases of an entry: curves over an axis, and the runs of a single case in order of time."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from logbook_agent.findings.case_repeats import level_in
from logbook_agent.findings.cases import cases, counting, value_of, without_mended
from logbook_agent.findings.tables.axes import lay_out
from logbook_agent.findings.tables.frame import Frame, Item, frame_of, groups, is_number, show
from logbook_agent.findings.tables.grid import Reading, read
from logbook_agent.findings.tables.metrics import choose
from logbook_agent.findings.tables.spec import TableSpec
from logbook_agent.model.header import Metric
from logbook_agent.model.record import Record
from logbook_agent.model.stats import median, noise_floor
from logbook_agent.report.figures.figure import Figure, FigureKind, PlotAxis, PlotPoint, PlotSeries, key
from logbook_agent.report.figures.figure_words import (
    NAME_CHARS,
    metric_axis,
    name_of,
    number_axis,
    shortest,
    shown,
    span_of,
)
from logbook_agent.text.markdown import cut_line
from logbook_agent.text.natural_order import in_order
from logbook_agent.text.phrases import counted

# The interval of a median over runs: what tables show in brackets.
SPREAD = "bars: lowest to highest run"
# Runs of one case are drawn one by one from this many on.
_FEWEST_RUNS = 3
_NO_ORDERS: Mapping[str, Sequence[str]] = {}
_Cell: TypeAlias = tuple[Sequence[Item], Reading]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRows:
    """The rows of an entry that were measured: those of runs that finished.
    `left_out` are the others, warm-ups apart."""

    entry: str
    frame: Frame
    axes: tuple[str, ...]
    left_out: int

    @property
    def items(self) -> Sequence[Item]:
        return self.frame.items


def rows_of(record: Record) -> EntryRows | None:
    """The measured rows of an entry; None where it has none."""
    every = counting(cases(without_mended(record)))
    good = [case for case in every if case.is_good]
    if not good:
        return None
    frame = frame_of(good)
    axes = lay_out(frame, TableSpec(), by_origin=False)
    return EntryRows(entry=record.id, frame=frame, axes=axes, left_out=len(every) - len(good))


def metrics_of(rows: EntryRows, declared: Sequence[Metric], metric: str | None) -> list[tuple[str, str | None]]:
    """The metrics to draw, with their units: the one asked for where it was measured, else the primary ones, else what
    the rows report. What comes in several units has no common axis."""
    if metric is not None:
        if not any(_finite(value_of(item.row, metric)) for item in rows.items):
            return []
        columns, _ = choose(rows.frame, TableSpec(metrics=(metric,)), declared)
    else:
        columns, _ = choose(rows.frame, TableSpec(), [m for m in declared if m.primary])
        reported = {name for item in rows.items for name in item.row.metrics}
        columns = [column for column in columns if column.name in reported]
    return [(column.name, column.unit) for column in columns if column.comparable]


def sweep(
    rows: EntryRows,
    metric: str,
    unit: str | None,
    declared: Sequence[Metric],
    *,
    compared: Collection[str] = (),
    orders: Mapping[str, Sequence[str]] = _NO_ORDERS,
) -> Figure | None:
    """The cases of an entry over the axis that has most values; None where nothing varies, where one case has a number,
    and over the words of an axis that is `compared`, which another figure shows. `orders`: the declared values of axes,
    whose order the cases have."""
    every = [(cell, read(cell, metric)) for cell in groups(rows.items, rows.axes)]
    cells = _ordered([(cell, reading) for cell, reading in every if _finite(reading.value)], rows.axes, orders)
    over = _over([cell[0] for cell, _ in cells], rows)
    if over is None or (not over.numeric and over.name in compared):
        return None
    y = metric_axis(metric, declared, unit, [reading.value or 0.0 for _, reading in cells])
    found: dict[str, list[PlotPoint]] = {}
    for place, series, (_, reading) in zip(over.places, over.series, cells, strict=True):
        point = _point(rows.entry, over, place, reading, metric, y.unit)
        found.setdefault(series or cut_line(metric, NAME_CHARS), []).append(point)
    x = (
        number_axis(over.name, [float(place) for place in over.places])
        if over.numeric
        else PlotAxis(name=over.name, names=tuple(dict.fromkeys(map(str, over.places))))
    )
    return Figure(
        key=key(rows.entry, "sweep", metric),
        kind=FigureKind.SWEEP,
        title=f"{rows.entry}: {metric} over {over.name}"
        if over.name != "case"
        else f"{rows.entry}: {metric} of each case",
        x=x,
        y=y,
        series=tuple(_series(name, points, numeric=over.numeric) for name, points in found.items()),
        note=_note(rows, [reading.runs for _, reading in cells]),
        entries=(rows.entry,),
        entry=rows.entry,
    )


def _ordered(cells: Sequence[_Cell], axes: Sequence[str], orders: Mapping[str, Sequence[str]]) -> list[_Cell]:
    """The cells by their values on each axis: as declared, else in natural order."""
    ranks = {
        name: {v: n for n, v in enumerate(in_order((_text(c, name) for c in cells), orders.get(name, ())))}
        for name in axes
    }
    return sorted(cells, key=lambda cell: [ranks[name][_text(cell, name)] for name in axes])


def _text(cell: _Cell, name: str) -> str:
    return show(cell[0][0].place.get(name))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Over:
    """The axis along which cases lie, and of each of them its place there and the name of its series."""

    name: str
    numeric: bool
    places: tuple[float | str, ...]
    series: tuple[str, ...]


def _over(items: Sequence[Item], rows: EntryRows) -> _Over | None:
    """Numbers with the most values, where they make curves: two points of each series and more. Else the cases by
    name: by the labels of their runs where these tell them apart, by what varies where not. None of a single case."""
    counts = {name: len({item.key(name) for item in items}) for name in rows.axes}
    varied = [name for name in rows.axes if counts[name] > 1]
    if not varied:
        return None
    numeric = [name for name in varied if _is_numeric(items, name)]
    for name in sorted(numeric, key=lambda name: -counts[name]):
        series = tuple(_told(item, [n for n in varied if n != name]) for item in items)
        if len(items) >= 2 * len({*series}):
            places = tuple(float(show(item.place.get(name))) for item in items)
            return _Over(name=name, numeric=True, places=places, series=series)
    nothing = ("",) * len(items)
    if len(varied) == 1:
        words = tuple(cut_line(show(item.place.get(varied[0])), NAME_CHARS) for item in items)
        return _Over(name=varied[0], numeric=False, places=words, series=nothing)
    label = rows.frame.pseudo["label"]
    by_label = tuple(cut_line(show(item.place.get(label)), NAME_CHARS) for item in items)
    names = by_label if len({*by_label}) == len(items) else shortest([_told(item, varied) for item in items])
    return _Over(name="case", numeric=False, places=names, series=nothing)


def _told(item: Item, names: Sequence[str]) -> str:
    return name_of({name: show(item.place.get(name)) for name in names})


def _note(rows: EntryRows, runs: Sequence[int]) -> str:
    said = (
        f"Median over {span_of(runs, 'run')} of each case; {SPREAD}"
        if max(runs) > 1
        else "1 run of each case, so no interval"
    )
    left = rows.left_out
    lost = f"; {counted(left, 'row')} from runs that failed or did not finish left out" if left else ""
    return f"{said}{lost}."


def _series(name: str, points: list[PlotPoint], *, numeric: bool) -> PlotSeries:
    if not numeric:
        return PlotSeries(name=name, shape="points", points=tuple(points))
    return PlotSeries(name=name, shape="line", points=tuple(sorted(points, key=lambda p: float(p.x))))


def _point(entry: str, over: _Over, place: float | str, reading: Reading, metric: str, unit: str) -> PlotPoint:
    value = reading.value or 0.0
    low, high = reading.spread or (None, None)
    if low is not None and high is not None and not (_finite(low) and _finite(high)):
        low = high = None
    where = f"{over.name}={place:g}" if isinstance(place, float) else place
    said = f"{entry} {where}: {shown(value, metric, unit, low, high)}, n={reading.runs}"
    return PlotPoint(x=place, y=value, low=low, high=high, n=reading.runs, said=cut_line(said, 200), entry=entry)


def _is_numeric(items: Sequence[Item], name: str) -> bool:
    values = [item.place.get(name) for item in items]
    return all(not isinstance(v, bool) and v is not None and is_number(v) and _finite(_number(v)) for v in values)


def _number(value: object) -> float | None:
    try:
        return float(str(value))
    except ValueError:
        return None


def _finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


# -- runs of one case --------------------------------------------------------------------------------


def noise(rows: EntryRows, metric: str, unit: str | None, declared: Sequence[Metric]) -> Figure | None:
    """The runs of an entry with one case in the order they were started, beside their median, how far they scatter,
    and the level before and after where it changed. None of several cases, and of few runs."""
    found = sorted((item.run, value) for item in rows.items if _finite(value := value_of(item.row, metric)) and value)
    if rows.axes or len(found) < _FEWEST_RUNS:
        return None
    values = [value for _, value in found]
    floor = noise_floor([[value] for value in values])
    middle, level = median(values), level_in([item.case for item in rows.items], metric)
    y = metric_axis(metric, declared, unit, values)
    points = [
        PlotPoint(
            x=number,
            y=value,
            said=f"{entry}/{run}, run {number} in time order: {shown(value, metric, y.unit)}",
            entry=entry,
        )
        for number, ((_, entry, run), value) in enumerate(found, start=1)
    ]
    ends = 1.0, float(len(values))
    series = [PlotSeries(name="runs", shape="points", points=tuple(points))]
    if floor is not None:
        said = f"median {shown(middle, metric, y.unit)}, runs scatter by {floor:.2%}, n={len(values)}"
        band = [
            PlotPoint(x=x, y=middle, low=middle * math.exp(-floor), high=middle * math.exp(floor), n=len(values),
                      said=said, entry=rows.entry)
            for x in ends
        ]  # fmt: skip
        series.insert(0, PlotSeries(name=f"noise floor {floor:.2%}", shape="band", points=tuple(band)))
    if level is not None:
        text = level.text()
        after = next(number for number, ((_, _, run), _) in enumerate(found, start=1) if run == level.run)
        steps = [(1.0, level.before), (after + 0.5, level.after), (ends[1], level.after)]
        held = tuple(PlotPoint(x=x, y=v, n=len(values), said=text, entry=rows.entry) for x, v in steps)
        series.append(PlotSeries(name="level before and after", shape="steps", points=held))
    else:
        rule = (PlotPoint(x=1.0, y=middle, n=len(values), said=f"median {shown(middle, metric, y.unit)}",
                          entry=rows.entry),)  # fmt: skip
        series.append(PlotSeries(name="median", shape="rule", points=rule, beside=True))
    what = f"{counted(len(values), 'run')} of one configuration, one mark each"
    around = "; band: one standard deviation around the median" if floor is not None else ""
    changed = f"; {level.text()}" if level is not None else ""
    return Figure(
        key=key(rows.entry, "noise", metric),
        kind=FigureKind.NOISE,
        title=f"{rows.entry}: {metric} run by run",
        x=PlotAxis(name="run, in time order"),
        y=y,
        series=tuple(series),
        note=f"{what}{around}{changed}.",
        entries=(rows.entry,),
        entry=rows.entry,
    )
