"""The pages of `logbook report --serve` in a browser: what runs, ends and starts while they are open."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.conftest import Cli
from tests.contract.browser.site import Watched, violations
from tests.contract.report.live.live_support import GO, running

pytestmark = pytest.mark.slow


@dataclass
class Live(Watched):
    url: str = ""

    def opened(self, path: str | None = None, **options: object) -> Page:
        """A page that has let itself in."""
        page = self.page(**options)  # type: ignore[arg-type]
        found = urlsplit(self.url)
        page.goto(self.url if path is None else f"http://{found.netloc}{path}?{found.query}")
        assert "token" not in page.url
        expect(page.locator("#live-state")).to_have_text("live")
        return page


@contextmanager
def serving(browser: Browser, folder: Path, *words: str) -> Iterator[Live]:
    with running("report", "--serve", "--json", *words, cwd=folder) as process:
        assert process.stdout is not None
        found = json.loads(process.stdout.readline())["data"]
        live = Live(browser=browser, origins=(f"http://127.0.0.1:{found['port']}/",), url=found["url"])
        try:
            yield live
            live.check()
        finally:
            live.close()
    assert process.returncode == 0


def test_a_run_while_the_page_is_open(chromium: Browser, started: Cli, folder: Path) -> None:
    with serving(chromium, folder) as live:
        page = live.opened()
        nav = page.get_by_role("navigation", name="Sections")
        assert nav.get_by_role("link", name="All results").count() == 0
        script = f"echo '<img src=x onerror=alert(1)>'; {GO}; echo RESULT tflops=7"
        assert started("run", "--title", "Second", "--detach", "--", "sh", "-c", script).code == 0
        expect(page.locator("#live-now pre")).to_contain_text("<img src=x")
        assert violations(page) == []
        (folder / "go").touch()
        expect(page.locator("#live-now")).to_contain_text("logbook status")
        assert started("status").code == 0
        expect(page.locator("#MOE-000")).to_contain_text("7.000")
        expect(page.locator("#live-now")).to_contain_text("nothing is running")
        # A section that begins to say something has its place in the list of them.
        expect(nav.get_by_role("link", name="All results")).to_be_visible()


def test_what_the_reader_did_stays(chromium: Browser, started: Cli, folder: Path) -> None:
    script = "for i in 1 2 3 4 5 6 7 8; do echo RESULT tile=$i tflops=$((i * 37 % 11)); done"
    assert started("run", "--title", "First", "--", "sh", "-c", script).code == 0
    with serving(chromium, folder) as live:
        page = live.opened()
        table = page.locator("#results table")
        heading = table.get_by_role("columnheader", name="tflops")
        for _ in range(2):
            heading.get_by_role("button").click()
        page.locator("#results").get_by_placeholder("Filter rows").fill("0")
        page.locator("#MOE-000 summary", has_text="1 run").press("Enter")
        assert started("run", "--title", "Second", "--", "echo", "RESULT tile=10 tflops=50").code == 0
        assert started("edit", "MOE-000", "--interpretation", "it grows").code == 0
        expect(page.locator("#MOE-000")).to_contain_text("it grows")
        expect(table).to_contain_text("50.000")
        assert heading.get_attribute("aria-sort") == "descending"
        assert table.locator("tbody tr:visible").first.inner_text().count("50.000") == 1
        assert page.locator("#results").get_by_placeholder("Filter rows").input_value() == "0"
        assert page.locator("#MOE-000 details[open]").count() == 1
        assert page.evaluate("document.activeElement.textContent") == "1 run"
        # Search and permalinks know what came later.
        page.keyboard.press("/")
        page.keyboard.type("second")
        expect(page.locator("article:visible")).to_have_count(1)
        page.keyboard.press("Enter")
        expect(page.locator("#MOE-001")).to_be_focused()
        assert page.url.endswith("/moe.html#MOE-001")


def test_the_index_is_live(chromium: Browser, started: Cli, folder: Path) -> None:
    assert started("run", "--title", "First", "--", "echo", "RESULT tflops=2").code == 0
    with serving(chromium, folder) as live:
        page = live.opened("/")
        card = page.locator("#book-moe")
        expect(card).to_contain_text("1 entry")
        expect(page.locator("#live-now")).to_contain_text("nothing is running")
        script = f"echo half; {GO}; echo RESULT tflops=7"
        assert started("run", "--title", "Second", "--detach", "--", "sh", "-c", script).code == 0
        expect(card).to_contain_text("2 entries")
        expect(page.locator("#live-now")).to_contain_text(re.compile("heartbeat \\d+ s ago"))
        expect(page.locator("#live-now pre")).to_contain_text("half")
        assert started("start", "other", "--prefix", "OTHER", "--title", "Another one").code == 0
        expect(page.get_by_role("heading", level=2)).to_have_count(2)
        expect(page.locator("#index-head")).to_contain_text(re.compile("2 logbooks\\s*2 entries"))
        assert violations(page) == []
        page.get_by_role("link", name="MOE-001/01").click()
        expect(page.locator("#MOE-001")).to_be_in_viewport()
        (folder / "go").touch()


@pytest.mark.parametrize(("width", "dark"), [(380, True), (1600, False)])
def test_both_themes_narrow_and_wide(chromium: Browser, started: Cli, folder: Path, width: int, dark: bool) -> None:
    long = "echo " + "x" * 400
    assert started("run", "--title", "Slow " * 20, "--detach", "--", "sh", "-c", f"{long}; {GO}").code == 0
    with serving(chromium, folder) as live:
        for path in ("/moe.html", "/"):
            page = live.opened(path, width=width, dark=dark)
            expect(page.locator("#live-now pre")).to_contain_text("xxxx")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            background = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert background == ("rgb(16, 18, 20)" if dark else "rgb(255, 255, 255)")
            assert violations(page) == []
        (folder / "go").touch()


def test_a_server_that_has_ended(chromium: Browser, folder: Path, started: Cli) -> None:
    with serving(chromium, folder) as first:
        page = first.opened("/moe.html")
        stays = first.contexts.pop()
        first.complaints = []
    gone = first.complaints
    expect(page.locator("#live-state")).to_have_text("no answer from the server")
    stays.close()
    assert all("Failed to load resource" in one for one in gone)


def test_a_page_that_nobody_sees_gives_its_connection_back(chromium: Browser, started: Cli, folder: Path) -> None:
    with serving(chromium, folder) as live:
        page = live.opened()
        show = "is => { Object.defineProperty(document, 'hidden', {value: is, configurable: true});"
        show += " document.dispatchEvent(new Event('visibilitychange')) }"
        page.evaluate(show, True)
        assert started("run", "--title", "Meanwhile", "--", "true").code == 0
        page.wait_for_timeout(1500)
        assert page.locator("#MOE-000").count() == 0
        page.evaluate(show, False)
        expect(page.locator("#MOE-000")).to_contain_text("Meanwhile")


def test_a_plot_follows_and_its_data_stay_open(chromium: Browser, started: Cli, folder: Path) -> None:
    script = "for i in 1 2 3 4 5 6 7 8; do echo RESULT tile=$i tflops=$((10 + i * 37 % 11)); done"
    assert started("run", "--title", "First", "--", "sh", "-c", script).code == 0
    with serving(chromium, folder) as live:
        page = live.opened("/moe.html")
        figure = page.locator("#MOE-000 figure.chart").first
        figure.locator("summary").click()
        again = "for i in 1 2 3 4 5 6 7 8; do echo RESULT tile=$i tflops=$((20 + i * 37 % 11)); done"
        assert started("run", "--id", "MOE-000", "--", "sh", "-c", again).code == 0
        expect(page.locator("#MOE-000 figcaption").first).to_contain_text("2 runs")
        title = figure.locator(".wide a.mark title").first
        assert title.text_content() == "MOE-000 tile=1: 19.0 TF/s [14.0, 24.0], n=2"
        expect(figure.locator("tbody tr").first).to_have_text(re.compile(r"tflops\s*1\.0\s*19\.0\s*14\.0\s*24\.0\s*2"))
        assert violations(page) == []
