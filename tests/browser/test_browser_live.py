"""The live page in a browser: a run that begins and ends while it is open."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.site import Watched, violations
from tests.conftest import Cli
from tests.live.live_support import GO, running


@pytest.mark.slow
def test_a_run_while_the_page_is_open(chromium: Browser, started: Cli, folder: Path) -> None:
    assert started("run", "--title", "First", "--", "echo", "RESULT tflops=2").code == 0
    with running("serve", "--json", cwd=folder) as process:
        assert process.stdout is not None
        found = json.loads(process.stdout.readline())["data"]
        watched = Watched(browser=chromium, origins=(f"http://127.0.0.1:{found['port']}/",))
        page = watched.page()
        page.goto(found["url"])
        assert "token" not in page.url
        expect(page.locator("#live-state")).to_have_text("live")
        script = f"echo '<img src=x onerror=alert(1)>'; {GO}; echo RESULT tflops=7"
        assert started("run", "--title", "Second", "--detach", "--", "sh", "-c", script).code == 0
        expect(page.locator("#live-now pre")).to_contain_text("<img src=x")
        assert violations(page) == []
        (folder / "go").touch()
        expect(page.locator("#live-now")).to_contain_text("not in the logbook yet")
        assert started("collect").code == 0
        expect(page.locator("#MOE-001")).to_contain_text("7.000")
        expect(page.locator("#live-now")).to_contain_text("nothing runs")
        watched.check()
        watched.close()
    assert process.returncode == 0
