"""The page of a thousand entries in a real browser: quick, and searched as a whole."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.contract.browser import books
from tests.contract.browser.site import Site, violations
from tests.contract.typing_in import in_folder


@pytest.fixture(scope="module")
def many(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The report of a thousand entries, without logs."""
    place = tmp_path_factory.mktemp("many") / "work"
    place.mkdir()
    books.thousand(place)
    in_folder(place)("report", "--out", "site")
    with Site.serving(chromium, place / "site") as made:
        yield made
        made.check()


def violations_of(page: Page) -> list[str]:
    """As `violations`, without most entries, which are all made alike: to look at each takes minutes."""
    page.evaluate("for (const one of [...document.querySelectorAll('article:not([hidden])')].slice(20)) one.remove()")
    page.evaluate("for (const one of document.querySelectorAll('article[hidden]')) one.remove()")
    return violations(page)


def test_a_thousand_entries_are_quick(many: Site) -> None:
    assert (many.folder / "many.html").stat().st_size < 1_600_000
    page = many.page()
    page.goto(many.address + "many.html", wait_until="load")
    page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    assert paint < 1000, f"{paint:.0f} ms"
    assert page.locator("article").count() == 1000
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert violations_of(page) == []


def test_an_old_entry_is_found_by_its_address(many: Site) -> None:
    for address in (many.address + "many.html", (many.folder / "many.html").as_uri()):
        page = many.page()
        page.goto(f"{address}#MANY-007")
        expect(page.locator("#MANY-007")).to_be_in_viewport()
        expect(page.locator("#MANY-007")).to_be_focused()
        page.locator("#results a", has_text="MANY-500").first.click()
        expect(page.locator("#MANY-500")).to_be_in_viewport()


def test_the_search_filters_everything(many: Site) -> None:
    page = many.open("many.html")
    page.keyboard.press("/")
    page.keyboard.type("with 321 tokens")
    expect(page.locator("#found")).to_have_text("1 of 1000")
    expect(page.locator("article:visible")).to_have_count(1)
    expect(page.locator("#MANY-321")).to_be_visible()
    assert page.locator(".moment:visible").count() == 0, "the timeline lists the newest"
    assert {*page.locator("#results tbody tr:visible").evaluate_all("all => all.map(e => e.dataset.of)")} == {
        "MANY-321"
    }
    page.keyboard.press("Enter")
    expect(page.locator("#MANY-321")).to_be_in_viewport()
    page.locator("#search").fill("3th")
    expect(page.locator("#found")).to_have_text("100 of 1000")
    expect(page.locator("article:visible")).to_have_count(100)
    assert violations_of(page) == []


def test_lists_end_with_the_newest_entries(many: Site) -> None:
    page = many.open("many.html")
    for section, lines in (("#timeline", ".moment"), ("#open", "li")):
        assert page.locator(f"{section} {lines}").count() == 100
        expect(page.locator(section).get_by_text("900 earlier: see Entries")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("973th")
    assert page.locator(".moment:visible").count() == 1
    assert page.locator("#open li:visible").count() == 1


def test_without_scripts_every_entry_is_there(many: Site) -> None:
    page = many.open("many.html#MANY-007", java_script_enabled=False)
    expect(page.locator("#MANY-007")).to_be_in_viewport()
    assert page.locator("article").count() == 1000
    assert page.locator("#results tbody tr").count() == 2000
