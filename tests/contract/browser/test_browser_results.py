"""The table of all results in a real browser: its columns and filters."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.contract.browser import books
from tests.contract.browser.site import Site, violations


@pytest.fixture(scope="module")
def more(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of an A/B, and of runs without a comparison."""
    folder = tmp_path_factory.mktemp("more") / "work"
    folder.mkdir()
    typed = books.small(folder)
    for mode, topk in (("none", 8), ("int8", 4)):
        typed("run", "--title", "Alone", "--", *books.bench(mode, topk))
    typed("report", "--out", "site")
    return folder / "site"


@pytest.fixture
def demo(more: Path, site: Site) -> Site:
    shutil.copytree(more, site.folder, dirs_exist_ok=True)
    return site


def headings(page: Page) -> list[str]:
    return page.locator("#results thead th:visible").all_inner_texts()


def test_metrics_stand_before_config_behind_a_pinned_entry(demo: Site) -> None:
    page = demo.open("demo.html", width=380)
    names = headings(page)
    assert names[0] == "entry"
    assert names.index("tflops") < names.index("quant_mode") < len(names)
    scroll = page.locator("#results .scroll")
    left = page.locator("#results tbody td").first
    before = left.bounding_box()
    scroll.evaluate("e => { e.scrollLeft = 10_000 }")
    assert scroll.evaluate("e => e.scrollLeft") > 0
    assert left.bounding_box() == before
    assert page.evaluate("document.documentElement.scrollWidth") <= 380


def test_without_scripts_the_table_is_complete(demo: Site) -> None:
    page = demo.open("demo.html", java_script_enabled=False)
    assert page.locator("#results tbody tr:visible").count() == 5
    assert page.locator("#results").get_by_text("int8").count() > 1
    assert page.locator("#results :is(input, select, button)").count() == 0


def test_filter_by_value_and_choice_of_columns_by_keyboard(demo: Site) -> None:
    page = demo.open("demo.html")
    page.locator("#results summary", has_text="Filter by value").press("Enter")
    select = page.get_by_role("combobox", name="quant_mode")
    select.focus()
    page.keyboard.type("int8")
    expect(page.locator("#results summary", has_text="Filter: 2 of 5 rows")).to_be_visible()
    assert page.locator("#results tbody tr:visible").count() == 2
    page.locator("#results summary", has_text="Columns").press("Enter")
    page.get_by_role("checkbox", name="topk", exact=True).press("Space")
    assert "topk" not in headings(page)
    assert page.locator("#results tbody tr:visible").first.locator("td:visible").count() == len(headings(page))
    assert violations(page) == []
    select.select_option("all")
    page.get_by_role("checkbox", name="topk", exact=True).press("Space")
    assert "topk" in headings(page)
    assert page.locator("#results tbody tr:visible").count() == 5


def test_a_command_of_one_line_can_be_copied(demo: Site) -> None:
    page = demo.open("demo.html")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button = (
        page.locator("#DEMO-001 dt", has_text="Command")
        .locator("+ dd")
        .get_by_role("button", name="Copy this command")
        .first
    )
    button.focus()
    page.keyboard.press("Enter")
    expect(button).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == "bash bench.sh --quant-mode none --topk 2"


def test_the_summary_is_printed_on_one_page(demo: Site) -> None:
    page = demo.open("demo.html#print=summary")
    one = page.pdf(format="A4")
    assert one.count(b"/Type /Page\n") == 1
    page.evaluate("history.replaceState(null, '', location.pathname); delete document.documentElement.dataset.print")
    assert page.pdf(format="A4").count(b"/Type /Page\n") > 1
    page.get_by_role("button", name="Print").click()
    assert violations(page) == []
    page.evaluate("window.print = () => { window.printed = document.documentElement.dataset.print }")
    page.get_by_role("button", name="Summary only").click()
    assert page.evaluate("window.printed") == "summary"
