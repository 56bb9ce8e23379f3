"""A real Chromium (`scripts/browser` installs it), and pages in it that reach nothing but their own server."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.contract.browser import books
from tests.contract.browser.site import Site

# What is to be seen in the end is waited for, on a machine that has much to do.
expect.set_options(timeout=20_000)

_AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    path = next(
        filter(None, map(shutil.which, (os.environ.get("LOGBOOK_BROWSER", "chromium"), "chromium-browser"))), None
    )
    if path is None or not _AXE.exists():
        pytest.skip("no Chromium or no axe-core here: make test-browser installs them")
    with sync_playwright() as playwright:
        # Its sandbox does not work for root, and what is opened here is our own.
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def site(chromium: Browser, tmp_path: Path) -> Iterator[Site]:
    """An empty folder behind a server, and pages of it."""
    folder = tmp_path / "site"
    folder.mkdir()
    with Site.serving(chromium, folder) as made:
        yield made
        made.check()


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a small logbook."""
    folder = tmp_path_factory.mktemp("small") / "work"
    folder.mkdir()
    books.small(folder)("report", "--out", "site")
    return folder / "site"


@pytest.fixture
def demo(small: Path, site: Site) -> Site:
    """A copy of the report of the small logbook."""
    shutil.copytree(small, site.folder, dirs_exist_ok=True)
    return site
