"""Pages with charts, and what a browser drew of them."""

from __future__ import annotations

import functools
import json
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator
from playwright.sync_api import Page as Tab

from tests.contract.typing_in import in_folder

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


Chart = dict[str, Any]


def lines(*, points: int = 2000, y_log: bool = False) -> Chart:
    """Two curves over steps."""
    series = [
        {
            "label": name,
            "entry": "X-001",
            "x": [*range(0, 500 * points, 500)],
            "y": [start / (1 + step / 50) for step in range(points)],
        }
        for name, start in (("old", 10.0), ("new", 8.0))
    ]
    axes = {"x": {"label": "step"}, "y": {"label": "loss", "log": y_log}}
    return {"kind": "lines", "title": "loss over step", **axes, "series": series, "bands": []}


def marks(*, ticks: Sequence[str] = ()) -> Chart:
    """Two series of marks with intervals, over numbers or over names, and a band that does not matter."""
    places = [*range(len(ticks))] if ticks else [1, 2, 8, 64]
    series = [
        {
            "label": name,
            "x": places,
            "y": [level + at for at in range(len(places))],
            "low": [level + at - 0.4 for at in range(len(places))],
            "high": [level + at + 0.6 for at in range(len(places))],
            "text": [f"X-00{at} {name}: {level + at}" for at in range(len(places))],
            "href": [f"#X-00{at}" for at in range(len(places))],
            "shape": "points" if ticks else "line",
            "beside": name == "none",
        }
        for name, level in (("none", 10.0), ("int8", 12.0))
    ]
    x = {"label": "topk", "log": True, **({"ticks": [*ticks]} if ticks else {})}
    bands = [{"from": 9.5, "to": 10.5, "label": "minimum effect", "beside": True}]
    y = {"label": "tflops", "unit": "TF/s"}
    return {"kind": "marks", "title": "tflops over topk", "x": x, "y": y, "series": series, "bands": bands}


def moved(chart: Chart, by: float) -> Chart:
    """The chart with every value higher."""
    kept = [{name: value for name, value in s.items() if name not in ("low", "high")} for s in chart["series"]]
    return {**chart, "series": [{**s, "y": [v and v + by for v in s["y"]]} for s in kept]}


def section(charts: Sequence[Chart]) -> str:
    """The section of a page with these charts as `plot-0`, `plot-1`..., as a feature may make it: the data alone."""
    figures = (
        f'<figure class="chart" id="plot-{n}"><script type="application/json" class="chart-data">'
        f"{json.dumps(chart).replace('<', chr(92) + 'u003c')}</script></figure>"
        for n, chart in enumerate(charts)
    )
    return f'<section id="plots" aria-label="Plots"><h2>Plots</h2><div class="plots">{"".join(figures)}</div></section>'


@functools.cache
def page_without_charts() -> str:
    """The page of a logbook with an entry for each that charts lead to."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "work"
        folder.mkdir()
        typed = in_folder(folder)
        typed("start", "charts", "--prefix", "X", "--title", "Charts")
        for _ in range(6):
            typed("note", "--title", "One", "--hypothesis", "words " * 300)
        typed("report", "--out", "site")
        return (folder / "site/charts.html").read_text()


def write(folder: Path, *charts: Chart) -> None:
    """A page `charts.html` with charts in the place of its own."""
    text, count = re.subn(
        r'<section id="plots".*?</section>', lambda _: section(charts), page_without_charts(), flags=re.DOTALL
    )
    assert count == 1
    (folder / "charts.html").write_text(text)


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
