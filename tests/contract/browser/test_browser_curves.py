"""Curves in a browser: on the page of a report, and as they grow on the page of a server."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.conftest import Cli
from tests.contract.browser.site import Site, violations
from tests.contract.browser.test_browser_live import serving
from tests.contract.report.live.live_support import GO

pytestmark = pytest.mark.slow

LINES = "i=0; while [ $i -lt 30 ]; do echo METRIC tflops=$((60 - i)) step=$i; i=$((i + 1)); done"


@pytest.fixture
def trained(started: Cli, folder: Path, site: Site) -> Site:
    """The page of two runs that have the same curve."""
    (folder / "train.sh").write_text(LINES)
    for _ in range(2):
        assert started("run", "--", "sh", "train.sh").code == 0
    assert started("report", "--out", str(site.folder)).code == 0
    return site


def drawn(page: Page, figure: str = "#MOE-000 figure.curves") -> Locator:
    found = page.locator(figure).first
    found.scroll_into_view_if_needed()
    expect(found.locator("canvas")).to_be_visible()
    return found


def steps(figure: Locator) -> tuple[float, float]:
    """The first and last step that are shown, as the legend tells them at both edges of the axes."""
    page, found = figure.page, []
    box = figure.locator(".u-over").bounding_box()
    assert box is not None
    for left in (box["x"] + 1, box["x"] + box["width"] - 1):
        page.mouse.move(left, box["y"] + box["height"] / 2)
        found.append(float(figure.locator(".u-value").first.inner_text()))
    return found[0], found[1]


def drag(figure: Locator, end: float) -> None:
    box = figure.locator(".u-over").bounding_box()
    assert box is not None
    down = box["y"] + box["height"] / 2
    figure.page.mouse.move(box["x"] + 2, down)
    figure.page.mouse.down()
    figure.page.mouse.move(box["x"] + box["width"] * end, down, steps=5)
    figure.page.mouse.up()


@pytest.mark.parametrize(("width", "dark"), [(380, True), (1400, False)])
def test_the_curves_of_entries_and_over_each_other(trained: Site, width: int, dark: bool) -> None:
    page = trained.open("moe.html", width=width, dark=dark)
    titles = [json.loads(text)["title"] for text in page.locator(".curves > script").all_text_contents()]
    assert titles == ["tflops over step"] * 3
    for name in ("#plots figure.curves", "#MOE-000 figure.curves", "#MOE-001 figure.curves"):
        figure = drawn(page, name)
        expect(figure.locator("figcaption")).to_contain_text("tflops over step")
        expect(figure.locator("svg.plot")).to_be_hidden()
        figure.locator("summary").click()
    expect(page.locator("#MOE-000 figure.curves td", has_text="60").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert violations(page) == []


def test_a_drag_zooms_and_the_legend_hides(trained: Site) -> None:
    page = trained.open("moe.html")
    figure = drawn(page, "#plots figure.curves")
    assert steps(figure) == (0, 29)
    drag(figure, 0.5)
    assert steps(figure)[1] < 20
    figure.locator(".u-over").dblclick()
    assert steps(figure) == (0, 29)
    name = figure.locator(".u-series", has_text="MOE-001")
    name.locator("th").press("Enter")
    expect(name).to_have_class(re.compile("u-off"))
    name.locator("th").click()
    expect(name).not_to_have_class(re.compile("u-off"))
    with page.expect_download() as begun:
        figure.locator("summary").click()
        figure.get_by_role("button", name="CSV").click()
    rows = [*csv.DictReader(Path(begun.value.path()).read_text().splitlines())]
    assert [(row["step"], row["tflops"]) for row in rows[:2]] == [("0", "60"), ("1", "59")]
    assert len(rows) == 60


def test_new_data_keep_zoom_and_hidden_lines(trained: Site) -> None:
    """A live page replaces its sections: the drawing goes on."""
    page = trained.open("moe.html")
    figure = drawn(page, "#plots figure.curves")
    drag(figure, 0.5)
    figure.locator(".u-series th", has_text="MOE-001").click()
    before, canvas = steps(figure), figure.locator("canvas").element_handle()
    page.evaluate(
        """() => {
          const section = document.getElementById("plots"), copy = section.cloneNode(true);
          copy.querySelector(".canvas").remove();
          section.replaceWith(copy);
          document.dispatchEvent(new CustomEvent("report:changed", { detail: { id: "plots" } }));
        }"""
    )
    assert canvas.evaluate("canvas => canvas.isConnected"), "it was drawn from scratch"
    assert steps(figure) == before
    expect(figure.locator(".u-series", has_text="MOE-001")).to_have_class(re.compile("u-off"))


def test_paper_and_pages_without_scripts_have_the_plain_picture(trained: Site) -> None:
    page = trained.open("moe.html")
    figure = drawn(page)
    page.emulate_media(media="print")
    expect(figure.locator("svg.plot")).to_be_visible()
    expect(figure.locator("canvas")).to_be_hidden()
    plain = trained.open("moe.html", java_script_enabled=False)
    expect(plain.locator("#MOE-000 figure.curves svg.plot")).to_be_visible()


def test_the_curve_of_a_run_grows_while_the_page_is_open(chromium: Browser, started: Cli, folder: Path) -> None:
    with serving(chromium, folder) as live:
        page = live.opened()
        (folder / "train.sh").write_text(f"{LINES}; {GO}; echo METRIC tflops=1 step=99")
        assert started("run", "--detach", "--", "sh", "train.sh").code == 0
        expect(page.locator("#running figcaption")).to_have_text("MOE-000/01 tflops over step")
        assert violations(page) == []
        (folder / "go").touch()
        assert started("wait", "MOE-000").code == 0
        expect(page.locator("#MOE-000 figure.chart")).to_be_visible()
        expect(page.locator("#running")).to_be_hidden()
