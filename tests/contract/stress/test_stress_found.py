"""What attacks on the store once broke."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.seams import Store

pytestmark = pytest.mark.slow

RUN = ("run", "--", "sh", "-c", "echo METRIC tflops=1.5")


@pytest.fixture
def three(started: Cli) -> Cli:
    assert started(*RUN).code == 0
    assert started("note", "--title", "a note", "--next", "go on").code == 0
    assert started(*RUN).code == 0
    return started


@pytest.mark.slow
def test_a_run_beside_an_orphan_says_so(three: Cli, folder: Path) -> None:
    tool = subprocess.Popen(
        [sys.executable, "-m", "logbook_agent", "run", "--", "sleep", "30"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    until = time.monotonic() + 20
    book = folder / "logbooks/moe"
    while not any("MOE-003." in lock.read_text() for lock in book.rglob("worker.lock")):
        assert time.monotonic() < until
        time.sleep(0.02)
    tool.send_signal(signal.SIGKILL)
    tool.wait()
    try:
        beside = three("run", "--json", "--", "true")
        [run] = Store(folder).runs(beside.data["id"])
        assert run.contention.runs == ["MOE-003 run 1"]
    finally:
        three("cancel", "MOE-003")
    [run] = Store(folder).runs(three("run", "--json", "--", "true").data["id"])
    assert not run.contention.runs
