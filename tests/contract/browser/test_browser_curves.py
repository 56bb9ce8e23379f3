"""Curves in a browser: on the page of a report, and as they grow on the page of a server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.conftest import Cli
from tests.contract.browser.site import Site, violations
from tests.contract.browser.test_browser_live import serving
from tests.contract.report.live.live_support import GO

pytestmark = pytest.mark.slow

LINES = "i=0; while [ $i -lt 30 ]; do echo METRIC loss=$((60 - i)) step=$i; i=$((i + 1)); done"


@pytest.mark.parametrize("width", [380, 1400])
def test_the_curves_of_entries_and_over_each_other(started: Cli, folder: Path, site: Site, width: int) -> None:
    (folder / "train.sh").write_text(LINES)
    for _ in range(2):
        assert started("run", "--", "sh", "train.sh").code == 0
    assert started("report", "--out", str(site.folder)).code == 0
    page = site.open("moe.html", width=width)
    charts = page.locator("figure.chart")
    assert [json.loads(text)["title"] for text in page.locator("script.chart-data").all_text_contents()] == [
        "loss over step"
    ] * charts.count()
    assert page.locator("#MOE-000 figure.chart").count() == 1
    expect(page.locator("#MOE-000 figure.chart figcaption")).to_contain_text("loss over step")
    page.locator("#MOE-000 figure.chart").scroll_into_view_if_needed()
    expect(page.locator("#MOE-000 figure.chart canvas").first).to_be_visible()
    page.locator("#MOE-000 figure.chart summary").click()
    expect(page.locator("#MOE-000 figure.chart td").nth(1)).to_have_text("0")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert violations(page) == []


def test_the_curve_of_a_run_grows_while_the_page_is_open(chromium: Browser, started: Cli, folder: Path) -> None:
    with serving(chromium, folder) as live:
        page = live.opened()
        (folder / "train.sh").write_text(f"{LINES}; {GO}; echo METRIC loss=1 step=99")
        assert started("run", "--detach", "--", "sh", "train.sh").code == 0
        expect(page.locator("#running figcaption")).to_have_text("MOE-000/01 loss over step")
        assert violations(page) == []
        (folder / "go").touch()
        assert started("wait", "MOE-000").code == 0
        expect(page.locator("#MOE-000 figure.chart")).to_be_visible()
        expect(page.locator("#running")).to_be_hidden()
