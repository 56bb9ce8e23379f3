"""What was asked, found, left open and done next, and what failed, stands on the first two screens of every page."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.contract.browser.site import Site, violations
from tests.contract.typing_in import in_folder

OWN = Path(__file__).resolve().parents[3] / "logbooks"
SCREENS = ((1400, 900), (380, 800))
ROWS = ("asked", "found", "open", "next", "failed")


def rows_of(page: Page, height: int) -> dict[str, str]:
    """The text of each row of the box at the top, all of which ends on the second screen."""
    found = {}
    for name in ROWS:
        row = page.locator(f"[data-answer={name}]")
        expect(row).to_be_visible()
        box = row.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 2 * height, f"{name} ends below the second screen"
        found[name] = row.locator("dd").inner_text()
    return found


@pytest.fixture(scope="module")
def own(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The report of a copy of our own logbooks."""
    place = tmp_path_factory.mktemp("own") / "work"
    shutil.copytree(OWN, place / "logbooks")
    in_folder(place)("report", "--out", "site")
    with Site.serving(chromium, place / "site") as made:
        yield made
        made.check()


@pytest.mark.parametrize("topic", sorted(path.stem for path in OWN.glob("*.md")))
def test_our_own_logbooks_answer_five_questions(own: Site, topic: str) -> None:
    for width, height in SCREENS:
        page = own.open(f"{topic}.html", width=width, height=height)
        rows = rows_of(page, height)
        assert all(rows.values())
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert violations(page) == []


def test_a_negative_result_is_no_failure(own: Site) -> None:
    for width, height in SCREENS:
        page = own.open("moe_cpu_experts.html", width=width, height=height)
        row = page.locator("[data-answer=negative]")
        expect(row).to_contain_text("Combine by one gather per slot")
        expect(row).to_contain_text("3 more negative results")
        expect(page.locator("[data-answer=failed]")).not_to_contain_text("Combine by one gather")
    # At 380 px the bar leaves the title to the heading below it, which is whole.
    expect(page.get_by_role("heading", level=1)).to_have_text("Grouped expert matmuls on a CPU")
    expect(page.locator(".bar .name")).to_be_hidden()


def test_a_row_of_the_forest_leads_to_its_entry(own: Site) -> None:
    page = own.open("moe_virtual_devices.html")
    rows = page.locator(".forest a.row")
    assert rows.count() == 3
    expect(rows.first.get_by_role("img")).to_have_accessible_name(re.compile(r"^tokens_per_s \+7\.06% .*1%$"))
    rows.first.click()
    assert page.evaluate("location.hash") == "#MOE-VD-005"
    expect(page.locator("#MOE-VD-005")).to_be_in_viewport()


def test_logbooks_that_were_just_begun(tmp_path: Path, demo: Site) -> None:
    folder = tmp_path / "begun"
    folder.mkdir()
    typed = in_folder(folder)
    typed("start", "empty", "--prefix", "E", "--goal", "Is b faster?")
    typed("start", "broken", "--prefix", "B", "--goal", "Does it run?", "--metric", "time_s:min:s")
    typed("run", "-L", "broken", "--title", "First", "--", "sh", "-c", "echo no memory >&2; exit 3", code=3)
    typed("report", "--out", "site")
    for topic in ("empty", "broken"):
        shutil.copy(folder / f"site/{topic}.html", demo.folder)
    said = {
        "empty": ("Is b faster?", "Nothing was measured yet.", "logbook run -- COMMAND", "No next step",
                  "Nothing ran yet."),
        "broken": ("Does it run?", "Nothing was measured yet.", "logbook run -- COMMAND", "No next step", "no memory"),
        "demo": ("Is int8 faster?", "int8 has 5.97% more tflops than none (95%: ", "No comparison is open.",
                 "try topk 4", "runs failed."),
    }  # fmt: skip
    for topic, texts in said.items():
        for width, height in SCREENS:
            page = demo.open(f"{topic}.html", width=width, height=height)
            rows = rows_of(page, height)
            for name, text in zip(ROWS, texts, strict=True):
                assert text in rows[name]
        assert violations(page) == []
