"""The pages of `logbook report` in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.contract.browser import books
from tests.contract.browser.site import Site, violations
from tests.contract.typing_in import in_folder

WIDTHS = (380, 768, 1600)


@pytest.fixture
def evil(tmp_path: Path, site: Site) -> Site:
    place = tmp_path / "evil"
    place.mkdir()
    books.hostile(place)
    in_folder(place)("report", "--out", str(site.folder))
    return site


def no_wider_than(page: Page, width: int) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_it_opens_from_the_index_and_from_disk(demo: Site) -> None:
    page = demo.open("index.html")
    page.get_by_role("link", name="A demo").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("A demo")
    assert "int8 has 5.97% more tflops than none (95%: " in page.locator("#summary").inner_text()
    page.goto((demo.folder / "demo.html").as_uri())
    expect(page.get_by_role("heading", level=1)).to_have_text("A demo")
    # Files are no origin of the server's: this one was asked for by the test.
    assert demo.elsewhere == []


def test_the_parts_of_an_entry_and_its_log(demo: Site) -> None:
    page = demo.open("demo.html")
    entry = page.locator("#DEMO-001")
    labels = entry.locator("dt").all_text_contents()
    assert [
        label for label in labels if label in ("Command", "Result", "Comparison", "Interpretation", "Next action")
    ] == [
        "Command",
        "Result",
        "Comparison",
        "Interpretation",
        "Next action",
    ]
    page.locator("#DEMO-000 summary", has_text="1 run").click()
    page.locator("#DEMO-000").get_by_role("link", name="log of run 1").click()
    assert "RESULT quant_mode=none" in page.inner_text("body")


def test_one_file_holds_its_logs_and_works_as_the_pages_do(tmp_path: Path, site: Site) -> None:
    place = tmp_path / "one"
    place.mkdir()
    books.small(place)("publish", "--file", str(site.folder / "one.html"))
    page = site.open("one.html")
    expect(page.locator("#results thead").get_by_role("button", name="tflops")).to_be_visible()
    page.locator("#DEMO-000 summary", has_text="1 run").click()
    with page.expect_download() as begun:
        page.locator("#DEMO-000").get_by_role("link", name="log of run 1").click()
    assert "RESULT quant_mode=none" in Path(begun.value.path()).read_text()
    assert violations(page) == []


def test_sort_and_filter(demo: Site) -> None:
    page = demo.open("demo.html")
    table = page.locator("#results table")
    heading = table.get_by_role("columnheader", name="tflops")
    at = heading.evaluate("cell => cell.cellIndex + 1")

    def column() -> list[float]:
        return [float(text.split(" ")[0]) for text in table.locator(f"tbody td:nth-child({at})").all_inner_texts()]

    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert len(column()) > 2
    assert column() == sorted(column())
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    assert column() == sorted(column(), reverse=True)


def test_search_and_permalink(demo: Site) -> None:
    page = demo.open("demo.html")
    page.get_by_role("searchbox", name="Search entries").fill("int8 WINS")
    expect(page.locator("article:visible")).to_have_count(1)
    assert page.locator("#found").inner_text() == "1 of 3"
    assert page.locator(".moment:visible").count() == 1
    # A permalink to an entry that the search hides shows it.
    page.evaluate("location.hash = 'DEMO-002'")
    expect(page.locator("#DEMO-002")).to_be_in_viewport()
    other = demo.open("demo.html#DEMO-001")
    expect(other.locator("#DEMO-001")).to_be_in_viewport()
    assert other.evaluate("document.activeElement.id") == "DEMO-001"


@pytest.mark.parametrize("address", ["%", "%E0%A4%A", "DEMO-999", "constructor"])
def test_an_address_that_names_nothing_here(demo: Site, address: str) -> None:
    page = demo.open(f"demo.html#{address}")
    expect(page.locator("#summary-title")).to_be_visible()


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_both_themes_at_every_width(demo: Site, width: int, dark: bool) -> None:
    for name in ("demo.html", "index.html"):
        page = demo.open(name, width=width, dark=dark)
        no_wider_than(page, width)
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert background == ("rgb(16, 18, 20)" if dark else "rgb(255, 255, 255)")
        page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
        no_wider_than(page, width)
        assert violations(page) == []


def test_by_keyboard_alone(demo: Site) -> None:
    page = demo.open("demo.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.type("both modes")
    page.keyboard.press("Enter")
    expect(page.locator("#DEMO-001")).to_be_focused()
    seen: set[str] = set()
    for _ in range(150):
        page.keyboard.press("Tab")
        focus = page.evaluate(
            "(e => ({what: e.id || e.textContent.trim().slice(0, 20), tag: e.tagName, "
            "outline: getComputedStyle(e).outlineStyle}))"
            "(document.activeElement)"
        )
        if focus["tag"] == "BODY":
            break
        assert focus["outline"] != "none", f"no sign of the focus on {focus}"
        seen.add(focus["tag"])
    assert {"A", "BUTTON", "SUMMARY", "DIV"} <= seen
    # The search hides it until it is cleared.
    page.locator("#search").focus()
    page.keyboard.press("Escape")
    page.locator("#DEMO-000 summary").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("#DEMO-000 details").first.get_attribute("open") is not None


def test_print_shows_what_is_folded(demo: Site) -> None:
    page = demo.open("demo.html")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator("#DEMO-000 dt", has_text="Runs").locator("+ dd table").is_visible()
    assert not page.locator(".bar").is_visible()
    assert page.locator("#results thead").get_by_role("columnheader", name="tflops").get_by_text("tflops").is_visible()
    assert page.locator(".chart svg").first.is_visible()
    assert not page.locator(".chart details").first.is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.pdf().startswith(b"%PDF")


def test_hostile_text_does_nothing(evil: Site) -> None:
    for name in ("evil.html", "index.html"):
        page = evil.open(name)
        page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
        for mover in page.locator("article h3").all()[:3]:
            mover.hover()
        assert (
            page.locator("main img, main iframe, main form, base, main style, main [onerror], main [onload]").count()
            == 0
        )
        assert page.locator("main script:not([type='application/json'])").count() == 0
        assert (
            page.evaluate("[...document.links].filter(a => !/^https?:|^file:/.test(a.protocol)).map(a => a.href)") == []
        )
        assert (
            page.evaluate(r"/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/.test(document.documentElement.innerHTML)")
            is False
        )
        assert page.evaluate("document.body.offsetHeight") > 500
        no_wider_than(page, 1280)
        assert violations(page) == []
        evil.check()
    log = evil.open(next(str(p.relative_to(evil.folder)) for p in evil.folder.rglob("EVIL-000-01.txt")))
    assert "<script>" in log.inner_text("body")
    assert log.locator("script, img").count() == 0


def test_the_policy_stops_what_is_put_in_later(demo: Site) -> None:
    page = demo.open("demo.html")
    page.evaluate(
        "document.querySelector('main').insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.got = 1\">')"
    )
    page.evaluate(
        "document.querySelector('main').append("
        "Object.assign(document.createElement('script'), {textContent: 'window.got = 2'}))"
    )
    page.wait_for_timeout(200)
    assert page.evaluate("window.got") is None
    assert demo.elsewhere == []
    assert all("Content Security Policy" in one for one in demo.complaints)
    demo.complaints.clear()
