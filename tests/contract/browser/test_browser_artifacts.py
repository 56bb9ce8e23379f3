"""Files that runs left, on a page in a real browser: pictures are drawn, and nothing in the others runs."""

from __future__ import annotations

from pathlib import Path

from PIL import Image
from playwright.sync_api import expect

from tests.conftest import Cli
from tests.contract.artifacts.left_files import script
from tests.contract.browser.site import Site, violations


def test_pictures_are_drawn_and_nothing_runs(started: Cli, folder: Path, site: Site) -> None:
    keep = [word for name in ("out/*", "*.svg", "*.html") for word in ("--keep", name)]
    words = script(folder)
    Image.new("L", (900, 9)).save(folder.parent / "ready/out/wide.png")
    assert started("run", *keep, "--hypothesis", "as ![the loss](out/loss.png)", "--", *words).code == 3
    assert started("report", "--out", str(site.folder)).code == 0
    for width in (380, 1400):
        page = site.open("moe.html", width=width)
        expect(page.get_by_role("img", name="the loss")).to_be_visible()
        sizes = page.eval_on_selector_all("#MOE-000 img", "all => all.map(i => [i.alt, i.naturalWidth, i.complete])")
        assert sizes == [
            ["the loss", 1, True],
            ["out/wide.png", 900, True],
            ["b.svg", 8, True],
            ["evil.svg", 300, True],
        ]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.title() != "1"
        assert violations(page) == []
    for name in ("evil.svg", "page.html"):
        page = site.open("moe.html")
        page.get_by_role("link", name=name).click()
        expect(page.locator("body")).to_contain_text("<script>alert(")
    site.check()
