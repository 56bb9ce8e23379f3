"""`logbook report --serve` while the store changes under it, beside other servers, and where it cannot start."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.report.live.live_support import serving
from tests.stored import at

pytestmark = pytest.mark.slow


@pytest.mark.wide
def test_git_changes_the_store(started: Cli, folder: Path, git: Callable[..., str]) -> None:
    git("checkout", "-q", "-b", "before")
    git("checkout", "-q", "main")
    assert started("run", "--title", "First", "--", "echo", "RESULT tflops=2").code == 0
    git("add", "-A")
    git("commit", "-q", "-m", "A logbook")
    with serving(cwd=folder) as served:
        with served.following("/") as index, served.following("/moe.html") as page:
            index.until("book-moe", "1</b> entry")
            page.until("MOE-000", "First")
            git("checkout", "-q", "before")
            index.until("book-moe", None)
            assert "0</b> logbooks" in served.ask("/")[1]
            page.until("now", "cannot be read now")
            # What was known stays.
            assert "First" in served.ask("/moe.html")[1]
            git("checkout", "-q", "main")
            index.until("book-moe", "1</b> entry")
            page.until("now", "nothing is running")
        assert served.status("/moe.html") == 200


def test_entries_and_logs_go(started: Cli, folder: Path) -> None:
    for title in ("First", "Second"):
        assert started("run", "--title", title, "--", "echo", "RESULT tflops=2").code == 0
    entries = folder / "logbooks/moe/entries"
    with serving(cwd=folder) as served, served.following("/moe.html") as page:
        assert "log of run 1" in page.until("MOE-001", "Second")
        at(folder / "logbooks/moe/runs/MOE-001").rename(folder / "away")
        at(entries / "MOE-001.yaml").rename(entries / "MOE-002.yaml")
        page.until("MOE-002", "Second")
        page.until("MOE-001", None)
        assert served.status("/moe/logs/MOE-000-01.txt") == 200
        at(folder / "logbooks/moe/runs/MOE-000/01/output.log").unlink()
        page.until("MOE-000", "1 lines")
        answer, said = served.ask("/moe/logs/MOE-000-01.txt")
        assert (answer.status, "RESULT" in said) == (404, False)


def test_ports_that_cannot_be(started: Cli) -> None:
    for port in ("-1", "65536", "x"):
        assert started("report", "--serve", "--port", port).code == 2
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        assert started("report", "--json", "--port", str(held.getsockname()[1])).code == 2  # (a port implies --serve)
