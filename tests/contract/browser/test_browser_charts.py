"""Charts in a real browser: what is drawn, and what a reader can do with it."""

from __future__ import annotations

import csv
import io
import json
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.contract.browser import charts
from tests.contract.browser.site import Site, violations

SIZES = ("64k", "128k", "1M")


def opened(site: Site, *made: charts.Chart, **options: Any) -> Page:
    charts.write(site.folder, *made)
    tab = site.page(**options)
    tab.add_init_script(charts.NOTE_TEXTS)
    tab.goto(f"{site.address}charts.html")
    return tab


def drag(tab: Page, figure: Locator, start: float, end: float) -> None:
    """Over a part of the axes, from and to a share of their width."""
    box = figure.locator(".u-over").bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    tab.mouse.move(box["x"] + box["width"] * start, y)
    tab.mouse.down()
    tab.mouse.move(box["x"] + box["width"] * end, y, steps=5)
    tab.mouse.up()


def test_a_mark_says_what_it_is_and_leads_to_its_entry(demo: Site) -> None:
    tab = demo.open("demo.html")
    figure = tab.locator("#plots figure.chart").first
    figure.scroll_into_view_if_needed()
    canvas = figure.locator(".canvas[data-drawn]")
    canvas.focus()
    tab.wait_for_timeout(300)
    tab.keyboard.press("ArrowRight")
    first = tab.locator("#tip").inner_text()
    assert first.startswith("DEMO-000")
    tab.keyboard.press("ArrowRight")
    expect(tab.locator("#tip")).to_contain_text("DEMO-001")
    tab.keyboard.press("Escape")
    expect(tab.locator("#tip")).to_be_hidden()
    tab.keyboard.press("ArrowRight")
    box = figure.locator(".chart-lit").bounding_box()
    assert box is not None
    tab.keyboard.press("Enter")
    assert tab.evaluate("location.hash") == "#DEMO-000"
    expect(tab.locator("#DEMO-000")).to_be_in_viewport()
    # The same by the pointer.
    tab.evaluate("location.hash = ''")
    figure.scroll_into_view_if_needed()
    tab.wait_for_timeout(300)
    canvas.focus()
    tab.keyboard.press("End")
    box = figure.locator(".chart-lit").bounding_box()
    assert box is not None
    tab.mouse.move(box["x"] + 9, box["y"] + 9)
    expect(tab.locator("#tip")).to_contain_text("DEMO-001")
    tab.mouse.click(box["x"] + 9, box["y"] + 9)
    assert tab.evaluate("location.hash") == "#DEMO-001"


def test_the_legend_switches_series_and_bands(site: Site) -> None:
    tab = opened(site, charts.marks())
    figure = charts.chart(tab)
    assert charts.pixels(figure, "series-2") > 100
    button = figure.get_by_role("button", name="int8")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "false")
    assert charts.pixels(figure, "series-2") == 0
    assert charts.pixels(figure, "series-1") > 100
    button.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "true")
    assert charts.pixels(figure, "series-2") > 100
    grey = charts.pixels(figure, "muted")
    figure.get_by_role("button", name="minimum effect").click()
    assert charts.pixels(figure, "muted") < grey


def test_a_drag_zooms_and_is_taken_back(site: Site) -> None:
    tab = opened(site, charts.lines())
    figure = charts.chart(tab)
    whole = [t["text"] for t in charts.written(tab)]
    assert {"0", "200,000", "800,000"} <= {*whole}
    drag(tab, figure, 0.0, 0.2)
    reset = figure.get_by_role("button", name="Reset zoom")
    expect(reset).to_be_visible()
    near = [t["text"] for t in charts.written(tab)]
    assert "800,000" not in near
    assert "100,000" in near
    assert tab.evaluate("location.hash") == ""
    reset.click()
    expect(reset).to_be_hidden()
    assert [t["text"] for t in charts.written(tab)] == whole
    canvas = figure.locator(".canvas")
    canvas.focus()
    tab.keyboard.press("+")
    expect(reset).to_be_visible()
    tab.keyboard.press("0")
    expect(reset).to_be_hidden()


def test_every_label_stands_at_its_value(site: Site) -> None:
    """Numbers by size on a logarithmic axis, names in their order; none over another, none cut off."""
    tab = opened(site, charts.marks(), charts.marks(ticks=SIZES), charts.lines(y_log=True))
    for number in range(3):
        charts.chart(tab, number)
    across = sorted((t for t in charts.written(tab, 0) if t["text"] in ("1", "2", "8", "64")), key=lambda t: t["x"])
    assert [t["text"] for t in across] == ["1", "2", "8", "64"]
    step = [b["x"] - a["x"] for a, b in pairwise(across)]
    assert step == pytest.approx([step[0], 2 * step[0], 3 * step[0]], abs=2)
    down = sorted((t for t in charts.written(tab, 1) if t["text"] in SIZES), key=lambda t: t["y"])
    assert [t["text"] for t in down] == list(SIZES)
    assert {"0.5", "1", "2", "5", "10"} <= {t["text"] for t in charts.written(tab, 2)}
    for number in range(3):
        canvas = tab.locator(f"#plot-{number} canvas").bounding_box()
        assert canvas is not None
        texts = [t for t in charts.written(tab, number) if not t["turned"]]
        boxes = [(left(t), t["y"], left(t) + t["width"], t["y"] + 12) for t in texts]
        assert all(a >= 0 and c <= canvas["width"] and b >= 0 and d <= canvas["height"] + 2 for a, b, c, d in boxes), (
            boxes
        )
        for at, one in enumerate(boxes):
            for other in boxes[at + 1 :]:
                assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1], texts


def left(text: dict[str, object]) -> float:
    share = {"center": 0.5, "right": 1.0, "left": 0.0, "start": 0.0, "end": 1.0}[str(text["align"])]
    return float(str(text["x"])) - share * float(str(text["width"]))


def test_data_as_table_and_files(demo: Site) -> None:
    tab = demo.open("demo.html")
    figure = tab.locator("#DEMO-001 figure.chart").first
    figure.scroll_into_view_if_needed()
    figure.locator(".canvas[data-drawn]").wait_for()
    data = json.loads(figure.locator("script.chart-data").text_content() or "")
    figure.locator("summary").click()
    body = figure.locator("tbody tr")
    points = [(s["label"], y) for s in data["series"] for y in s["y"]]
    expect(body).to_have_count(len(points) + len(data["bands"]))
    assert body.first.inner_text().startswith(f"{points[0][0]}\t")

    def saved(name: str) -> bytes:
        with tab.expect_download() as begun:
            figure.get_by_role("button", name=f"as {name}").click()
        assert begun.value.suggested_filename.endswith(f".{name.lower()}")
        return Path(begun.value.path()).read_bytes()

    rows = list(csv.DictReader(io.StringIO(saved("CSV").decode())))
    assert [(row["series"], float(row["y"])) for row in rows[: len(points)]] == points
    assert saved("PNG").startswith(b"\x89PNG")
    drawn = ET.fromstring(saved("SVG"))  # noqa: S314 - our own
    names = {name: [e.text for e in drawn.iter(f"{{http://www.w3.org/2000/svg}}{name}")] for name in ("text", "title")}
    assert data["title"].startswith(names["text"][0] or "?")
    assert {*data["series"][0]["text"]} <= {*names["title"]}


def test_a_cell_is_no_formula(site: Site) -> None:
    made = charts.marks(ticks=("=1+1", "@x", 'say "a"'))
    tab = opened(site, made)
    figure = charts.chart(tab)
    with tab.expect_download() as begun:
        figure.get_by_role("button", name="as CSV").click()
    rows = list(csv.DictReader(io.StringIO(Path(begun.value.path()).read_text())))
    assert [row["x"] for row in rows[:3]] == ["'=1+1", "'@x", 'say "a"']


@pytest.mark.parametrize(("width", "dark"), [(380, True), (1280, False)])
def test_charts_are_readable_and_accessible(site: Site, width: int, dark: bool) -> None:
    tab = opened(site, charts.marks(), charts.marks(ticks=SIZES), charts.lines(), width=width, dark=dark)
    for number in range(3):
        charts.chart(tab, number).locator("summary").click()
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    for canvas in tab.locator("figure canvas").all():
        box = canvas.bounding_box()
        assert box is not None
        assert box["width"] <= width - 40
    tab.locator("#plot-0 .canvas").focus()
    tab.keyboard.press("ArrowRight")
    expect(tab.locator("#tip")).to_have_text("X-000 none: 10.0")
    assert violations(tab) == []


def test_new_data_keep_zoom_and_legend(site: Site) -> None:
    """A live page replaces its sections: the chart in it goes on."""
    made = charts.marks(), charts.lines()
    tab = opened(site, *made)
    for number in range(2):
        charts.chart(tab, number)
    figure = charts.chart(tab, 1)
    drag(tab, figure, 0.0, 0.2)
    figure.get_by_role("button", name="new").click()
    canvas = figure.locator("canvas").element_handle()
    before = figure.locator(".canvas").get_attribute("data-drawn")
    html = charts.section([charts.moved(one, 90) for one in made])
    tab.evaluate(
        "html => { document.getElementById('plots').outerHTML = html;"
        " document.dispatchEvent(new CustomEvent('report:changed', {detail: {id: 'plots'}})); }",
        html,
    )
    expect(figure.locator(".canvas")).not_to_have_attribute("data-drawn", before or "")
    assert canvas.evaluate("canvas => canvas.isConnected"), "it was drawn from scratch"
    expect(figure.get_by_role("button", name="Reset zoom")).to_be_visible()
    expect(figure.get_by_role("button", name="new")).to_have_attribute("aria-pressed", "false")
    figure.locator(".canvas").focus()
    tab.keyboard.press("ArrowRight")
    expect(tab.locator("#tip")).to_contain_text("100 ")
    # A chart that is gone takes nothing with it, and one that comes is drawn.
    tab.evaluate(
        "html => { document.getElementById('plots').outerHTML = html;"
        " document.dispatchEvent(new CustomEvent('report:changed', {detail: {id: 'plots'}})); }",
        charts.section([charts.lines()]).replace("plot-0", "plot-7"),
    )
    charts.chart(tab, 7)


def test_paper_has_pictures_in_light_colours(site: Site) -> None:
    """Also where the page is dark, and of charts that were not drawn yet."""
    tab = opened(site, charts.marks(), charts.lines(), charts.marks(ticks=SIZES), dark=True, height=300)
    figure = charts.chart(tab)
    figure.get_by_role("button", name="int8").click()
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    tab.emulate_media(media="print", color_scheme="light")
    for number in range(3):
        picture = tab.locator(f"#plot-{number} .printed > svg")
        expect(picture).to_be_visible()
        light, blue = picture.locator("> rect").get_attribute("fill"), picture.locator('[stroke="rgb(0, 114, 178)"]')
        assert light == "rgb(255, 255, 255)"
        assert blue.count() > 0
        expect(tab.locator(f"#plot-{number} :is(canvas, button, details)").first).to_be_hidden()
    words = tab.locator("#plot-0 .printed text").all_text_contents()
    assert {"1", "2", "8", "64", "topk", "none"} <= {*words}
    assert "int8" not in words
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    tab.emulate_media(media="screen", color_scheme="dark")
    expect(figure.locator(".printed")).to_have_count(0)
    assert charts.pixels(charts.chart(tab, 1), "series-1") > 100
    assert tab.pdf().startswith(b"%PDF")


def test_without_scripts_there_is_the_picture(demo: Site) -> None:
    tab = demo.open("demo.html", java_script_enabled=False)
    picture = tab.locator("#plots figure.chart svg").first
    expect(picture).to_be_visible()
    assert "tflops" in (picture.text_content() or "")
