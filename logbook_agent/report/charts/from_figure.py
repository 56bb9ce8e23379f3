"""A figure as a chart."""

from __future__ import annotations

from logbook_agent.report.charts.chart import Chart, ChartAxis, ChartBand, ChartSeries, ChartShape
from logbook_agent.report.figures.figure import Figure, PlotAxis, PlotPoint, PlotSeries, interval_of, is_drawable
from logbook_agent.report.figures.figure_words import plain

# From so many points on, a series does not say each in words: the chart shows its numbers.
_MOST_SAID = 400
_SHAPES: dict[str, ChartShape] = {"line": "line", "points": "points", "steps": "steps"}


def chart_of(figure: Figure) -> Chart:
    """The chart of a figure. Points that no axis has a place for are left out; a click on a mark leads to its entry."""
    places = {name: at for at, name in enumerate(figure.x.names)}
    series: list[ChartSeries] = []
    bands: list[ChartBand] = []
    for one in figure.series:
        points = [p for p in one.points if is_drawable(p)]
        if not points:
            continue
        if one.shape in ("band", "rule"):
            bands += _band(one, points[0])
        else:
            series.append(_series(one, points, places))
    return Chart(
        kind="marks",
        title=plain(figure.title),
        x=_axis(figure.x),
        y=_axis(figure.y),
        series=tuple(series),
        bands=tuple(bands),
    )


def _axis(axis: PlotAxis) -> ChartAxis:
    ticks = tuple(map(plain, axis.names)) or None
    return ChartAxis(label=plain(axis.name), unit=plain(axis.unit) or None, log=axis.log, ticks=ticks)


def _band(one: PlotSeries, point: PlotPoint) -> list[ChartBand]:
    """A level, or a range that is equal along the whole axis, as bands of figures are."""
    ends = (point.y, point.y) if one.shape == "rule" else interval_of(point)
    return [ChartBand(low=ends[0], high=ends[1], label=plain(one.name), beside=one.beside)] if ends else []


def _series(one: PlotSeries, points: list[PlotPoint], places: dict[str, int]) -> ChartSeries:
    ends = [interval_of(point) for point in points]
    entries = {point.entry for point in points}
    return ChartSeries(
        label=plain(one.name),
        entry=plain(next(iter(entries))) if len(entries) == 1 else None,
        x=tuple(float(places[p.x]) if isinstance(p.x, str) else float(p.x) for p in points),
        y=tuple(point.y for point in points),
        low=tuple(both[0] if both else None for both in ends) if any(ends) else None,
        high=tuple(both[1] if both else None for both in ends) if any(ends) else None,
        text=tuple(plain(point.said) for point in points) if len(points) <= _MOST_SAID else None,
        href=tuple(f"#{plain(point.entry)}" if point.entry else None for point in points),
        shape=_SHAPES[one.shape],
        beside=one.beside,
    )
