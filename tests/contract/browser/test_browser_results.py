"""The table of all results in a real browser: its columns, filters, and the verdict of two ticked rows."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

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


def row(page: Page, entry: str, mode: str) -> Locator:
    return page.locator(f"#results tr[data-of='{entry}']", has_text=mode)


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


def test_two_rows_of_a_comparison_have_its_verdict(demo: Site) -> None:
    page = demo.open("demo.html")
    button = page.get_by_role("button", name="Compare rows")
    expect(button).to_be_disabled()
    for mode in ("none", "int8"):
        row(page, "DEMO-001", mode).get_by_role("checkbox").press("Space")
    button.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".verdicts li")).to_have_count(1)
    expect(dialog.locator(".verdicts")).to_contain_text("int8 has 5.97% more tflops than none (95%: ")
    assert dialog.get_by_role("row", name="quant_mode none int8").is_visible()
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(dialog).not_to_be_visible()


def test_two_rows_without_a_verdict_say_so(demo: Site) -> None:
    page = demo.open("demo.html")
    for entry, mode in (("DEMO-003", "none"), ("DEMO-004", "int8")):
        row(page, entry, mode).get_by_role("checkbox").check()
    page.get_by_role("button", name="Compare rows").click()
    for named in ("DEMO-003", "DEMO-004"):
        expect(page.get_by_role("dialog")).to_contain_text(named)
    assert page.locator("dialog .verdicts").count() == 0


def test_a_third_tick_takes_the_first_away(demo: Site) -> None:
    page = demo.open("demo.html")
    boxes = page.locator("#results tbody .tick")
    for at in (0, 1, 2):
        boxes.nth(at).check()
    assert [boxes.nth(at).is_checked() for at in range(5)] == [False, True, True, False, False]
    # A row stays ticked when its place changes.
    page.locator("#results th", has_text="tflops").get_by_role("button").click()
    assert page.locator("#results .tick:checked").count() == 2


def test_two_entries_have_a_verdict_or_the_reason(demo: Site) -> None:
    page = demo.open("demo.html#diff=DEMO-000..DEMO-001")
    expect(page.get_by_role("dialog")).to_contain_text("DEMO-000")
    # Words are broken only where they are longer than a column.
    widths = (
        page.locator("#compare-result table")
        .first.locator("thead th")
        .evaluate_all("all => all.map(e => e.offsetWidth)")
    )
    assert min(widths) > 200


def test_a_command_of_one_line_can_be_copied(demo: Site) -> None:
    page = demo.open("demo.html")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button = page.locator("#DEMO-001 [data-part=command]").get_by_role("button", name="Copy this command").first
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
