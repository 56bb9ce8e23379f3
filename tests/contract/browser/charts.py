"""Pages with charts, and what a browser drew of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator
from playwright.sync_api import Page as Tab

from logbook_agent.report.charts.chart import Chart, ChartAxis, ChartBand, ChartSeries, chart_json
from logbook_agent.report.page.document import LiveParts, document
from logbook_agent.report.page.page import Page, PageSection
from logbook_agent.report.page.pictures import inert_json

# Notes what is written on canvases: the text, its place within the canvas in pixels of the page, how it is aligned.
NOTE_TEXTS = """
window.written = [];
const draw = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
  const at = this.getTransform().transformPoint({x, y}), ratio = devicePixelRatio;
  const width = this.measureText(text).width / ratio, turned = Math.abs(this.getTransform().b) > 0.1;
  const canvas = this.canvas.closest?.("figure")?.id;
  written.push({text, x: at.x / ratio, y: at.y / ratio, align: this.textAlign, width, turned, canvas});
  return draw.call(this, text, x, y, ...rest);
};
"""


def lines(*, points: int = 2000, y_log: bool = False) -> Chart:
    """Two curves over steps."""
    series = tuple(
        ChartSeries(
            label=name,
            entry="X-001",
            x=tuple(float(step) for step in range(0, 500 * points, 500)),
            y=tuple(start / (1 + step / 50) for step in range(points)),
        )
        for name, start in (("old", 10.0), ("new", 8.0))
    )
    return Chart(
        kind="lines",
        title="loss over step",
        x=ChartAxis(label="step"),
        y=ChartAxis(label="loss", log=y_log),
        series=series,
    )


def marks(*, x_log: bool = True, ticks: tuple[str, ...] | None = None) -> Chart:
    """Two series of marks with intervals, and a band that does not matter."""
    places = tuple(map(float, range(len(ticks)))) if ticks else (1.0, 2.0, 8.0, 64.0)
    series = tuple(
        ChartSeries(
            label=name,
            x=places,
            y=tuple(level + at for at in range(len(places))),
            low=tuple(level + at - 0.4 for at in range(len(places))),
            high=tuple(level + at + 0.6 for at in range(len(places))),
            text=tuple(f"X-00{at} {name}: {level + at}" for at in range(len(places))),
            href=tuple(f"#X-00{at}" for at in range(len(places))),
            shape="points" if ticks else "line",
            beside=name == "none",
        )
        for name, level in (("none", 10.0), ("int8", 12.0))
    )
    return Chart(
        kind="marks",
        title="tflops over topk",
        x=ChartAxis(label="topk", log=x_log, ticks=ticks),
        y=ChartAxis(label="tflops", unit="TF/s"),
        series=series,
        bands=(ChartBand(low=9.5, high=10.5, label="minimum effect", beside=True),),
    )


def moved(chart: Chart, by: float) -> Chart:
    """The chart with every value higher."""
    series = tuple(
        dataclasses.replace(s, y=tuple(v and v + by for v in s.y), low=None, high=None) for s in chart.series
    )
    return dataclasses.replace(chart, series=series)


def section(charts: Sequence[Chart]) -> str:
    """The section of a page with these charts as `plot-0`, `plot-1`..., as a feature may make it: the data alone."""
    figures = (
        f'<figure class="chart" id="plot-{n}">'
        f'<script type="application/json" class="chart-data">{inert_json(chart_json(chart))}</script></figure>'
        for n, chart in enumerate(charts)
    )
    return f'<section id="plots" aria-label="Plots"><h2>Plots</h2><div class="plots">{"".join(figures)}</div></section>'


def write(folder: Path, *charts: Chart, live: LiveParts | None = None) -> None:
    """A page `charts.html` with charts, and an entry for each that these lead to."""
    ids = tuple(f"X-00{number}" for number in range(6))
    entries = (
        PageSection(id=one, html=f'<article id="{one}" class="entry"><h3>{one}</h3><p>{"words " * 300}</p></article>')
        for one in ids
    )
    head = PageSection(id="summary", html='<section id="summary"><h1>Charts</h1></section>')
    facts = PageSection(id="facts", html='<script type="application/json" id="facts">{"sets":[],"entries":{}}</script>')
    made = Page(
        topic="charts",
        title="Charts",
        sections=(head, PageSection(id="plots", html=section(charts)), *entries, facts),
        entries=ids,
        foot="made by a test",
    )
    (folder / "charts.html").write_text("".join(document(made, live=live or LiveParts())))


def chart(tab: Tab, number: int = 0) -> Locator:
    """A chart that was drawn."""
    figure = tab.locator(f"#plot-{number}")
    figure.scroll_into_view_if_needed()
    figure.locator(".canvas[data-drawn]").wait_for()
    # What scrolling hides is hidden before anything is shown.
    tab.wait_for_timeout(200)
    return figure


def written(tab: Tab, number: int = 0) -> list[dict[str, Any]]:
    """The texts of the last drawing of a chart with their places."""
    tab.evaluate("window.written = []; document.documentElement.dataset.theme = 'light'")
    tab.wait_for_timeout(200)
    found: list[dict[str, Any]] = tab.evaluate("window.written")
    return [text for text in found if text["canvas"] == f"plot-{number}" and text["text"]]


def pixels(figure: Locator, name: str) -> int:
    """How many pixels of its canvas have the colour of a name, such as `series-1`."""
    return int(
        figure.evaluate(
            """(figure, name) => {
              const probe = document.createElement("i");
              probe.style.color = `var(--${name})`;
              figure.append(probe);
              const wanted = getComputedStyle(probe).color.match(/\\d+/g).map(Number);
              probe.remove();
              const canvas = figure.querySelector("canvas"), copy = document.createElement("canvas");
              Object.assign(copy, {width: canvas.width, height: canvas.height});
              const ctx = copy.getContext("2d", {willReadFrequently: true});
              ctx.drawImage(canvas, 0, 0);
              const {data} = ctx.getImageData(0, 0, copy.width, copy.height);
              let count = 0;
              for (let at = 0; at < data.length; at += 4)
                if (wanted.every((part, n) => Math.abs(data[at + n] - part) < 3) && data[at + 3] > 250) count++;
              return count;
            }""",
            name,
        )
    )
