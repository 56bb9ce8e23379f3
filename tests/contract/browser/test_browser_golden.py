"""Where the labels of charts stand, against places that people looked at."""

from __future__ import annotations

import json
import math
from pathlib import Path

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
TOLERANCE_PX = 3


def drawn(site: Site, made: dict[str, charts.Chart]) -> Labels:
    """The labels of each chart, as Chromium draws them."""
    charts.write(site.folder, *made.values())
    tab = site.page()
    for script in (FIXED_WIDTHS, charts.NOTE_TEXTS):
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
