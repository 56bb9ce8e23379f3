"""Figures as charts: what their JSON says."""

from __future__ import annotations

import json
import math
from dataclasses import replace

from logbook_agent.report.charts.chart import Chart, ChartAxis, ChartSeries, chart_json
from logbook_agent.report.charts.from_figure import chart_of
from logbook_agent.report.figures.figure import Figure, FigureKind, PlotAxis, PlotPoint, PlotSeries
from logbook_agent.report.page.pictures import pictures

POINTS = tuple(
    PlotPoint(x=x, y=y, low=y - 1, high=y + 1, said=f"X-001 {x}: {y}", entry="X-001")
    for x, y in ((1.0, 5.0), (2.0, 7.0))
)
FIGURE = Figure(
    key="x-001-sweep-tflops",
    kind=FigureKind.SWEEP,
    title="X-001: tflops </script> over topk",
    x=PlotAxis(name="topk"),
    y=PlotAxis(name="tflops", unit="TF/s", log=True),
    series=(
        PlotSeries(name="none", shape="line", points=POINTS),
        PlotSeries(name="floor", shape="band", points=tuple(replace(p, y=6, low=5.5, high=6.5) for p in POINTS)),
        PlotSeries(name="no change", shape="rule", points=POINTS[:1], beside=True),
    ),
    note="1 run of each case.",
    entries=("X-001",),
    entry="X-001",
)


def test_the_json_of_a_figure() -> None:
    assert json.loads(chart_json(chart_of(FIGURE))) == {
        "kind": "marks",
        "title": "X-001: tflops </script> over topk",
        "x": {"label": "topk"},
        "y": {"label": "tflops", "unit": "TF/s", "log": True},
        "series": [
            {
                "label": "none",
                "entry": "X-001",
                "text": ["X-001 1.0: 5.0", "X-001 2.0: 7.0"],
                "href": ["#X-001", "#X-001"],
                "shape": "line",
                "x": [1.0, 2.0],
                "y": [5.0, 7.0],
                "low": [4.0, 6.0],
                "high": [6.0, 8.0],
            }
        ],
        "bands": [
            {"from": 5.5, "to": 6.5, "label": "floor"},
            {"from": 5.0, "to": 5.0, "label": "no change", "beside": True},
        ],
    }


def test_names_are_places_and_what_has_no_place_is_left_out() -> None:
    names = ("64k", "128k")
    points = (
        *(PlotPoint(x=name, y=1.0) for name in reversed(names)),
        PlotPoint(x="64k", y=math.inf),
        PlotPoint(x="64k", y=2.0, low=math.nan, high=3.0),
    )
    figure = replace(
        FIGURE, x=PlotAxis(name="batch", names=names), series=(PlotSeries(name="", shape="points", points=points),)
    )
    (series,) = chart_of(figure).series
    assert (series.x, series.y, series.low) == ((1.0, 0.0, 0.0), (1.0, 1.0, 2.0), None)
    assert chart_of(figure).x.ticks == names


def test_a_gap_is_null() -> None:
    gap = ChartSeries(label="loss", x=(0.0, 1.0, 2.0), y=(1.0, math.nan, None))
    chart = Chart(kind="lines", title="", x=ChartAxis(label="step"), y=ChartAxis(label="loss"), series=(gap,))
    assert json.loads(chart_json(chart))["series"] == [{"label": "loss", "x": [0.0, 1.0, 2.0], "y": [1.0, None, None]}]


def test_a_page_of_many_entries_has_charts_with_a_table_for_readers_without_scripts() -> None:
    (small,), (large,) = pictures([FIGURE], entries=60), pictures([FIGURE], entries=61)
    assert small["chart"] == large["chart"]
    assert "</script>" not in str(small["chart"])
    assert (small["svg"] is not None, small["rows"]) == (True, [])
    assert large["svg"] is None
    assert large["rows"][0] == ["none", "1.0", "5.0", "4.0", "6.0", 1, "X-001"]  # type: ignore[index]
