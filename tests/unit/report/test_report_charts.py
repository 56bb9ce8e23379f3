"""Figures as charts: what their JSON says."""

from __future__ import annotations

import json
import math

from logbook_agent.report.charts.chart import Chart, ChartAxis, ChartSeries, chart_json
from logbook_agent.report.charts.from_figure import chart_of
from logbook_agent.report.figures.figure import Figure, FigureKind, PlotAxis, PlotPoint, PlotSeries


def test_names_are_places_and_what_has_no_place_is_left_out() -> None:
    names = ("64k", "128k")
    points = (
        *(PlotPoint(x=name, y=1.0) for name in reversed(names)),
        PlotPoint(x="64k", y=math.inf),
        PlotPoint(x="64k", y=2.0, low=math.nan, high=3.0),
    )
    figure = Figure(
        key="x-001-sweep-tflops",
        kind=FigureKind.SWEEP,
        title="",
        x=PlotAxis(name="batch", names=names),
        y=PlotAxis(name="tflops"),
        series=(PlotSeries(name="", shape="points", points=points),),
        note="",
        entries=("X-001",),
    )
    (series,) = chart_of(figure).series
    assert (series.x, series.y, series.low) == ((1.0, 0.0, 0.0), (1.0, 1.0, 2.0), None)
    assert chart_of(figure).x.ticks == names


def test_a_gap_is_null() -> None:
    gap = ChartSeries(label="loss", x=(0.0, 1.0, 2.0), y=(1.0, math.nan, None))
    chart = Chart(kind="lines", title="", x=ChartAxis(label="step"), y=ChartAxis(label="loss"), series=(gap,))
    assert json.loads(chart_json(chart))["series"] == [{"label": "loss", "x": [0.0, 1.0, 2.0], "y": [1.0, None, None]}]
