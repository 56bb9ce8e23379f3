"""The cases of an entry: curves over an axis, and the runs of a single case in order of time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct

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
from logbook_agent.report.figures.figure import (
    NAME_CHARS,
    Figure,
    FigureKind,
    PlotAxis,
    PlotPoint,
    PlotSeries,
    Shape,
    key,
    metric_axis,
    name_of,
    number_axis,
    shown,
    span_of,
)
from logbook_agent.text.commands.flags import in_order
from logbook_agent.text.markdown import cut_line
from logbook_agent.text.phrases import counted

# The interval of a median over runs: what tables show in brackets.
SPREAD = "bars: lowest to highest run"
# Runs of one case are drawn one by one from this many on.
_FEWEST_RUNS = 3


class EntryRows(Struct, frozen=True, kw_only=True):
    """The rows of an entry that were measured: those of runs that finished. `left_out` are the others, warm-ups apart.
    `orders` are the values of axes in the order in which people stated them, `compared` the axis of its comparison."""

    entry: str
    frame: Frame
    axes: tuple[str, ...]
    left_out: int
    declared: Sequence[Metric]
    orders: Mapping[str, Sequence[str]]
    compared: str | None

    @property
    def items(self) -> Sequence[Item]:
        return self.frame.items

    def text(self, item: Item, name: str) -> str:
        """The value of an item on an axis, as readers see it."""
        return show(item.place.get(name))


def rows_of(record: Record, declared: Sequence[Metric], orders: Mapping[str, Sequence[str]]) -> EntryRows | None:
    """The measured rows of an entry; None where it has none. `orders` as for `EntryRows`."""
    every = counting(cases(without_mended(record)))
    good = [case for case in every if case.is_good]
    if not good:
        return None
    frame, stated = frame_of(good), record.entry.comparison
    return EntryRows(
        entry=record.id,
        frame=frame,
        axes=lay_out(frame, TableSpec(), by_origin=False),
        left_out=len(every) - len(good),
        declared=declared,
        orders={**orders, **({stated.question.axis: stated.question.values} if stated is not None else {})},
        compared=stated.question.axis if stated is not None else None,
    )


def metrics_of(rows: EntryRows, metric: str | None) -> list[tuple[str, str | None]]:
    """The metrics to draw, with their units: the one asked for where it was measured, else the primary ones, else what
    the rows report. What comes in several units has no common axis."""
    if metric is not None:
        if not any(_finite(value_of(item.row, metric)) for item in rows.items):
            return []
        columns, _ = choose(rows.frame, TableSpec(metrics=(metric,)), rows.declared)
    else:
        columns, _ = choose(rows.frame, TableSpec(), [m for m in rows.declared if m.primary])
        reported = {name for item in rows.items for name in item.row.metrics}
        columns = [column for column in columns if column.name in reported]
    return [(column.name, column.unit) for column in columns if column.comparable]


def sweep(rows: EntryRows, metric: str, unit: str | None) -> Figure | None:
    """The cases of an entry over the axis that has most values, in the order of the axes' values: as stated, else the
    natural one. None where nothing varies, where one case has a number, and over the words of the axis that is
    compared, which another figure shows."""
    cells = [
        (cell[0], reading) for cell in groups(rows.items, rows.axes) if _finite((reading := read(cell, metric)).value)
    ]
    ranks = {}
    for name in rows.axes:
        values = in_order((rows.text(item, name) for item, _ in cells), rows.orders.get(name, ()))
        ranks[name] = {value: n for n, value in enumerate(values)}
    cells.sort(key=lambda cell: [rank[rows.text(cell[0], name)] for name, rank in ranks.items()])
    over = _over([item for item, _ in cells], rows)
    if over is None or (not over.numeric and over.name == rows.compared):
        return None
    y = metric_axis(metric, rows.declared, unit, [reading.value or 0.0 for _, reading in cells])
    found: dict[str, list[PlotPoint]] = {}
    for place, series, (_, reading) in zip(over.places, over.series, cells, strict=True):
        point = _point(rows.entry, over, place, reading, metric, y.unit)
        found.setdefault(series or cut_line(metric, NAME_CHARS), []).append(point)
    if over.numeric:
        for points in found.values():
            points.sort(key=lambda point: float(point.x))
        x = number_axis(over.name, [float(place) for place in over.places])
    else:
        x = PlotAxis(name=over.name, names=tuple(dict.fromkeys(map(str, over.places))))
    runs = [reading.runs for _, reading in cells]
    several = f"Median over {span_of(runs, 'run')} of each case; {SPREAD}"
    left = f"; {counted(rows.left_out, 'row')} from runs that failed or did not finish left out" * bool(rows.left_out)
    shape: Shape = "line" if over.numeric else "points"
    return Figure(
        key=key(rows.entry, "sweep", metric),
        kind=FigureKind.SWEEP,
        title=f"{rows.entry}: {metric} {'of each case' if over.name == 'case' else f'over {over.name}'}",
        x=x,
        y=y,
        series=tuple(PlotSeries(name=name, shape=shape, points=tuple(points)) for name, points in found.items()),
        note=f"{several if max(runs) > 1 else '1 run of each case, so no interval'}{left}.",
        entries=(rows.entry,),
        entry=rows.entry,
    )


class _Over(Struct, frozen=True, kw_only=True):
    """The axis along which cases lie, and of each of them its place there and the name of its series."""

    name: str
    numeric: bool
    places: Sequence[float | str]
    series: Sequence[str]


def _over(items: Sequence[Item], rows: EntryRows) -> _Over | None:
    """Numbers with the most values, where they make curves: two points of each series and more. Else the cases by
    name: by the labels of their runs where these tell them apart, by what varies where not. None of a single case."""
    counts = {name: len({item.key(name) for item in items}) for name in rows.axes}
    varied = [name for name in rows.axes if counts[name] > 1]
    if not varied:
        return None

    def told(item: Item, names: Sequence[str]) -> str:
        return name_of({name: rows.text(item, name) for name in names})

    for name in sorted(varied, key=lambda name: -counts[name]):
        if not all(_is_numeric(item, name) for item in items):
            continue
        series = [told(item, [n for n in varied if n != name]) for item in items]
        if len(items) >= 2 * len({*series}):
            return _Over(name=name, numeric=True, places=[float(rows.text(i, name)) for i in items], series=series)
    nothing, one = [""] * len(items), varied[0] if len(varied) == 1 else None
    # Cases that one axis tells apart lie along it, under its name.
    names = [cut_line(rows.text(item, one or rows.frame.pseudo["label"]), NAME_CHARS) for item in items]
    if one is None and len({*names}) < len(items):
        names = _shortest([told(item, varied) for item in items])
    return _Over(name=one or "case", numeric=False, places=names, series=nothing)


def _shortest(names: Sequence[str]) -> list[str]:
    """The first words of each name, as many as make all names differ; whole names where two are equal."""
    words = [name.split(" ") for name in names]
    for count in range(1, max(map(len, words), default=1)):
        found = [" ".join(one[:count]).rstrip(",") for one in words]
        if len({*found}) == len({*names}):
            return found
    return [*names]


def _point(entry: str, over: _Over, place: float | str, reading: Reading, metric: str, unit: str) -> PlotPoint:
    value, (low, high) = reading.value or 0.0, reading.spread or (None, None)
    if not (_finite(low) and _finite(high)):
        low = high = None
    where = f"{over.name}={place:g}" if isinstance(place, float) else place
    said = f"{entry} {where}: {shown(value, metric, unit, low, high)}, n={reading.runs}"
    return PlotPoint(x=place, y=value, low=low, high=high, n=reading.runs, said=cut_line(said, 200), entry=entry)


def _is_numeric(item: Item, name: str) -> bool:
    value = item.place.get(name)
    return value is not None and not isinstance(value, bool) and is_number(value) and math.isfinite(float(value))


def _finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


# -- runs of one case --------------------------------------------------------------------------------


def noise(rows: EntryRows, metric: str, unit: str | None) -> Figure | None:
    """The runs of an entry with one case in the order they were started, beside their median, how far they scatter,
    and the level before and after where it changed. None of several cases, and of few runs."""
    found = sorted((item.run, value) for item in rows.items if _finite(value := value_of(item.row, metric)) and value)
    if rows.axes or len(found) < _FEWEST_RUNS:
        return None
    values, entry = [value for _, value in found], rows.entry
    floor, level = noise_floor([[value] for value in values]), level_in([item.case for item in rows.items], metric)
    y, middle, count = metric_axis(metric, rows.declared, unit, values), median(values), len(values)
    center = f"median {shown(middle, metric, y.unit)}"

    def mark(x: float, value: float, said: str, **more: float) -> PlotPoint:
        return PlotPoint(x=x, y=value, n=count, said=said, entry=entry, **more)

    points = [
        PlotPoint(x=n, y=value, said=f"{of}/{run}, run {n} in time order: {shown(value, metric, y.unit)}", entry=of)
        for n, ((_, of, run), value) in enumerate(found, start=1)
    ]
    series = [PlotSeries(name="runs", shape="points", points=tuple(points))]
    if floor is not None:
        ends = {"low": middle * math.exp(-floor), "high": middle * math.exp(floor)}
        said = f"{center}, runs scatter by {floor:.2%}, n={count}"
        band = tuple(mark(x, middle, said, **ends) for x in (1.0, float(count)))
        series.insert(0, PlotSeries(name=f"noise floor {floor:.2%}", shape="band", points=band))
    if level is not None:
        after = next(number for number, ((_, _, run), _) in enumerate(found, start=1) if run == level.run)
        steps = [(1.0, level.before), (after + 0.5, level.after), (float(count), level.after)]
        marks = tuple(mark(x, value, level.text()) for x, value in steps)
        series.append(PlotSeries(name="level before and after", shape="steps", points=marks))
    else:
        series.append(PlotSeries(name="median", shape="rule", points=(mark(1.0, middle, center),), beside=True))
    notes = [
        f"{counted(count, 'run')} of one configuration, one mark each",
        "band: one standard deviation around the median" if floor is not None else "",
        level.text() if level is not None else "",
    ]
    return Figure(
        key=key(entry, "noise", metric),
        kind=FigureKind.NOISE,
        title=f"{entry}: {metric} run by run",
        x=PlotAxis(name="run, in time order"),
        y=y,
        series=tuple(series),
        note=f"{'; '.join(filter(None, notes))}.",
        entries=(entry,),
        entry=entry,
    )
