"""Plots of a page in a real browser: what is read on wide and narrow screens, in both themes, on paper, and where marks
lead."""

from __future__ import annotations

import csv
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.contract.browser.site import Site, violations

# The texts of a picture with their boxes, as this browser draws them.
BOXES = """figure => {
  const shown = [...figure.querySelectorAll("svg.plot")].filter((one) => one.clientWidth > 0);
  const box = (one) => one.getBoundingClientRect().toJSON();
  return shown.map((one) => ({ ...box(one), width: one.clientWidth,
    texts: [...one.querySelectorAll("text")].map((text) => ({ text: text.textContent, ...box(text) })) }));
}"""


def pictures(page: Page) -> list[dict[str, Any]]:
    """The picture of every plot that is to be seen."""
    found = []
    for figure in page.locator("figure.chart:visible").all():
        figure.scroll_into_view_if_needed()
        [picture] = figure.evaluate(BOXES)
        found.append(picture)
    assert found
    return found


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [380, 1400])
def test_every_label_is_read(demo: Site, width: int, dark: bool) -> None:
    page = demo.open("demo.html", width=width, dark=dark)
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
    for picture in pictures(page):
        assert picture["width"] < 340 if width == 380 else picture["width"] > 400
        for one in picture["texts"]:
            assert picture["left"] - 1 <= one["left"] < one["right"] <= picture["right"] + 1, one
            assert one["bottom"] - one["top"] >= 10, one
        for one, other in combinations(picture["texts"], 2):
            across = min(one["right"], other["right"]) - max(one["left"], other["left"])
            down = min(one["bottom"], other["bottom"]) - max(one["top"], other["top"])
            # Boxes have room above and below the letters.
            assert across <= 0 or down <= 4, (one, other)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert violations(page) == []


def test_a_mark_says_what_it_is_and_leads_to_its_entry(demo: Site) -> None:
    page = demo.open("demo.html")
    mark = page.locator("#plots .wide a.mark").last
    assert (mark.locator("title").text_content() or "").startswith("best so far, DEMO-001 ")
    mark.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#DEMO-001"
    expect(page.locator("#DEMO-001")).to_be_in_viewport()
    own = page.locator("#DEMO-001 .wide a.mark")
    assert {one.get_attribute("tabindex") for one in own.all()} == {"-1"}, "they lead to where the reader is"


def test_data_as_table_and_csv(demo: Site) -> None:
    page = demo.open("demo.html")
    figure = page.locator("#DEMO-001 figure.chart", has_text="pairs").first
    figure.locator("summary").click()
    rows = [row.locator("td").all_inner_texts() for row in figure.locator("tbody tr").all()]
    assert len(rows) == figure.locator(".wide a.mark").count() == figure.locator(".narrow a.mark").count() > 10
    with page.expect_download() as begun:
        figure.get_by_role("link", name="CSV").click()
    assert begun.value.suggested_filename == "demo-001-pairs-tflops.csv"
    heading, *found = csv.reader(Path(begun.value.path()).read_text().splitlines())
    assert found == rows
    assert heading == figure.locator("th").all_inner_texts()


def ink(picture: Locator) -> str:
    return str(picture.locator("text").first.evaluate("text => getComputedStyle(text).fill"))


def test_paper_has_pictures_in_light_colours(demo: Site) -> None:
    page = demo.open("demo.html", dark=True)
    picture = page.locator("#plots svg.plot").first
    assert ink(picture) == "rgb(231, 234, 238)"
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    expect(picture).to_be_visible()
    assert ink(picture) == "rgb(27, 31, 36)"
    expect(page.locator("#plots details").first).to_be_hidden()


def test_without_scripts_there_is_the_same_picture(demo: Site) -> None:
    page = demo.open("demo.html", java_script_enabled=False)
    picture = page.locator("#plots svg.plot").first
    expect(picture).to_be_visible()
    assert "tflops" in (picture.text_content() or "")
    assert page.locator("#plots a[download]").count() == 1
