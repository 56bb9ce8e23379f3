"""Golden pictures: where the labels of charts stand, and paper beside the screen, picture by picture."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path

import numpy as np
import pypdfium2
from PIL import Image
from playwright.sync_api import Page

from tests.contract.browser import charts
from tests.contract.browser.site import Site

# Text and its place in pixels of the canvas, of each chart.
Labels = dict[str, list[tuple[str, float, float]]]
GOLDEN = Path(__file__).parent / "labels.json"
CHARTS = {
    "marks": charts.marks(),
    "names": charts.marks(ticks=("64k", "128k", "1M")),
    "lines": charts.lines(y_log=True),
}
# Machines have different fonts: here each sign is 7 pixels wide, and what follows from widths is the same everywhere.
FIXED_WIDTHS = "CanvasRenderingContext2D.prototype.measureText = (text) => ({width: 7 * String(text).length});"
MOVE = """
(() => {
  const draw = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
    return draw.call(this, text, x + (text === "64k" ? 10 : 0) * devicePixelRatio, y, ...rest);
  };
})();
"""
TOLERANCE_PX = 3
# Of a block of so many pixels the mean grey is compared, in which a third of a pixel does not count: the margin of
# paper is no whole number of them.
BLOCK_PX = 8
# 12 mm, as report.css has them.
MARGIN_PX = 12 / 25.4 * 96
MOST_GREY = 64


def drawn(site: Site, made: dict[str, charts.Chart], *, moved: bool = False) -> Labels:
    """The labels of each chart, as Chromium draws them."""
    charts.write(site.folder, *made.values())
    tab = site.page()
    for script in (FIXED_WIDTHS, charts.NOTE_TEXTS, *([MOVE] if moved else [])):
        tab.add_init_script(script)
    tab.goto(f"{site.address}charts.html")
    for number in range(len(made)):
        charts.chart(tab, number)
    return {
        name: sorted((t["text"], round(t["x"], 1), round(t["y"], 1)) for t in charts.written(tab, number))
        for number, name in enumerate(made)
    }


def moved_labels(found: Labels, golden: Labels) -> list[str]:
    """The labels that do not stand where the golden ones do."""
    said = []
    for name, wanted in golden.items():
        if [text for text, *_ in found[name]] != [text for text, *_ in wanted]:
            said.append(f"{name}: {found[name]}")
            continue
        for (text, *at), (_, *place) in zip(found[name], wanted, strict=True):
            if math.dist(at, place) > TOLERANCE_PX:
                said.append(f"{name}: {text} at {at}, not {place}")
    return said


def test_labels_stand_where_they_stood(site: Site, tmp_path: Path) -> None:
    found = drawn(site, CHARTS)
    (tmp_path / "labels.json").write_text(json.dumps(found, indent=1) + "\n")
    assert moved_labels(found, json.loads(GOLDEN.read_text())) == [], f"if it shall be so: {tmp_path / 'labels.json'}"


def test_a_label_that_moved_ten_pixels_is_noticed(site: Site) -> None:
    [said] = moved_labels(drawn(site, CHARTS, moved=True), json.loads(GOLDEN.read_text()))
    assert said.startswith("names: 64k at ")


# -- paper -------------------------------------------------------------------------------------------


def on_paper(tab: Page, width: int, height: int) -> np.ndarray:
    """The grey values within the margins of the one page of paper that the tab is printed on: so many pixels."""
    size = {name: f"{px + 2 * MARGIN_PX}px" for name, px in (("width", width), ("height", height))}
    with pypdfium2.PdfDocument(tab.pdf(**size, print_background=True)) as document:
        [page] = list(document)
        picture = np.asarray(page.render(scale=96 / 72).to_pil().convert("L"), dtype=float)
    at = round(MARGIN_PX)
    return picture[at : at + height, at : at + width]


def on_screen(tab: Page) -> np.ndarray:
    """The grey values of what the tab shows."""
    return np.asarray(Image.open(io.BytesIO(tab.screenshot())).convert("L"), dtype=float)


def most_apart(one: np.ndarray, other: np.ndarray) -> float:
    """By how much the blocks of two pictures differ at most, of 255."""
    rows, columns = (size // BLOCK_PX for size in one.shape)

    def blocks(picture: np.ndarray) -> np.ndarray:
        cut = picture[: rows * BLOCK_PX, : columns * BLOCK_PX]
        return cut.reshape(rows, BLOCK_PX, columns, BLOCK_PX).mean(axis=(1, 3))

    return float(np.abs(blocks(one) - blocks(other)).max())


def test_the_summary_on_paper_is_the_summary_on_screen(demo: Site) -> None:
    """One page; and the paper shows each thing where the screen does."""
    width, height = 900, 1100
    tab = demo.page(width=width, height=height)
    tab.goto(f"{demo.address}demo.html#print=summary")
    paper = on_paper(tab, width, height)
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    tab.emulate_media(media="print")
    tab.wait_for_timeout(300)
    screen = on_screen(tab)
    assert paper.shape == screen.shape
    assert (paper < 128).sum() > 2000, "the paper is empty"
    assert most_apart(paper, screen) < MOST_GREY
    tab.locator("#summary-title").evaluate("title => { title.style.position = 'relative'; title.style.left = '10px' }")
    assert most_apart(paper, on_screen(tab)) > MOST_GREY, "a title that moved is not noticed"
