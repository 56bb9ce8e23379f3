"""How a metric went, in blocks: failed runs are gaps, withdrawn entries have no place; a pipe gets no blocks."""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from logbook_agent.findings.measurements import of_thread
from logbook_agent.findings.read import read
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.spark import BLOCKS, spark
from tests.conftest import Cli

GOES = 'n=$(($(cat n 2>/dev/null || echo 0) + 1)); echo $n > n; echo RESULT tflops=$n; [ "$n" != 2 ]'


def test_blocks() -> None:
    assert spark([1, 2, 3], 10) == "▁▅█"
    assert spark([None, 5, None, 5], 10) == " ▄ ▄"
    assert spark([1, 2, 8], 2) == "▁█"
    assert (spark([1], 9), spark([None, None], 9), spark([], 9), spark([1, 2], 0)) == ("", "", "", "")
    assert spark([-1.7e308, 1.7e308, float("nan"), float("inf")], 9) == f"{BLOCKS[0]}{BLOCKS[-1]}  "


def in_terminal(*words: str, cwd: Path, term: str = "xterm") -> str:
    """What a command prints on a terminal."""
    terminal, own = pty.openpty()
    command = [sys.executable, "-m", "logbook_agent.cli", *words]
    environ = {**os.environ, "TERM": term, "PYTHONIOENCODING": "utf-8"}
    process = subprocess.Popen(command, cwd=cwd, env=environ, stdin=own, stdout=own, stderr=own)
    os.close(own)
    found = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while piece := os.read(terminal, 65536):
            found += piece
    os.close(terminal)
    assert process.wait(timeout=30) == 0
    return found.decode().replace("\r\n", "\n")


@pytest.mark.slow
def test_a_failed_run_is_a_gap(started: Cli, folder: Path) -> None:
    assert started("run", "--repeat", "3", "--", "sh", "-c", GOES).code == 1
    assert started("run", "--", "false").code == 1
    assert started("run", "--", "echo", "RESULT tflops=9").code == 0
    assert started("run", "--", "echo", "RESULT tflops=1000").code == 0
    assert started("edit", "MOE-003", "--state", "void").code == 0
    assert started("note", "--title", "No run").code == 0
    space = Workspace(cwd=folder, environ={})
    found = read(space, space.book())
    assert [s["history"].get("tflops", {}).get("values") for s in found.summaries] == [
        [1.0, None, 3.0], None, [9.0], None, None,
    ]  # fmt: skip
    assert of_thread(found.thread, found.header.metrics[0]) == ([2.0, None, 9.0], "TF/s")
    listed = in_terminal("list", cwd=folder)
    assert f"  {BLOCKS[0]} {BLOCKS[-1]}  " in listed.splitlines()[0]
    assert not set(BLOCKS) & set("".join(listed.splitlines()[1:]))
    told = in_terminal("status", cwd=folder)
    assert f"course:\n  tflops: {BLOCKS[0]} {BLOCKS[-1]}  2.000 .. 9.000 TF/s, 2 entries\n" in told
    for said in (started("list").out, started("status").out, started("list", "--json").out,
                 started("status", "--json").out, in_terminal("list", cwd=folder, term="dumb"),
                 in_terminal("status", "--json", cwd=folder)):  # fmt: skip
        assert not set(BLOCKS) & set(said)
        assert "course" not in said
        assert '"history"' not in said
