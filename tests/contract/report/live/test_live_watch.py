"""`logbook watch`: what goes on, at once, and nothing of the logbook is touched."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli
from tests.contract.e2e.e2e_support import LOGBOOK
from tests.contract.report.live.live_support import GO, killed_if_late, running, wait_for, whole

SLOW = ("sh", "-c", f"printf 'step 1\\n\\033[31mred\\033[0m \\342\\200\\256 <b>\\n'; {GO}; echo RESULT tflops=3")


@pytest.mark.slow
def test_a_snapshot_where_there_is_no_terminal(started: Cli, folder: Path) -> None:
    assert started("run", "--title", "First", "--", "echo", "RESULT tflops=2").code == 0
    assert started("run", "--title", "Slow", "--label", "A", "--detach", "--", *SLOW).code == 0
    wait_for(lambda: "red" in started("show", "MOE-001", "--log").out)
    before = whole(folder)
    wait_for(lambda: ", heartbeat " in started("watch").out)
    shown = started("watch")
    assert shown.code == 0
    assert whole(folder) == before, "not even an index"
    lines = shown.out.splitlines()
    assert lines[0].endswith(" UTC")
    assert "moe (moe, MOE)" in lines
    [at] = [n for n, line in enumerate(lines) if line.startswith("  MOE-001/01 A  Slow  running  local on ")]
    assert "heartbeat " in lines[at]
    assert lines[at + 2 : at + 4] == ["    │ step 1", "    │ red \\u202e <b>"]
    assert any(line.startswith("Best tflops so far: 2.000 TF/s (1 run) in MOE-000") for line in lines)
    (folder / "go").touch()
    before = whole(folder)
    wait_for(lambda: "ended with exit code 0" in (shown := started("watch").out) and "logbook status" in shown)
    assert whole(folder) == before, "nothing is collected"
    assert started("status").code == 0
    assert "nothing is running" in started("watch").out


def test_no_text_turns_the_direction_of_what_follows(started: Cli) -> None:
    assert started("note", "--title", "a \u202egnp.exe\u2069", "--next", "a \u202egnp.exe\u2069").code == 0
    for words in (("watch",), ("list",), ("status",), ("show", "MOE-000")):
        found = started(*words).out
        assert "a \\u202egnp.exe\\u2069" in found, words
        assert not {"\u202e", "\u2069"} & {*found}


@pytest.mark.slow
def test_a_line_of_json_per_change(started: Cli, folder: Path) -> None:
    with running("watch", "--json", cwd=folder) as process:
        assert process.stdout is not None

        def following() -> dict[str, Any]:
            assert process.stdout is not None
            answer = json.loads(process.stdout.readline())
            assert answer["schema"] == "logbook/watch/1"
            data: dict[str, Any] = answer["data"]
            return data

        assert following()["entries"] == {"total": 0}
        assert started("run", "--", "echo", "RESULT tflops=2").code == 0
        while not (data := following())["best"]:
            pass
        assert data["best"][0]["value"] == 2.0
        view, header = (folder / "logbooks").rename(folder / "away"), folder / "logbooks/moe/logbook.yaml"
        while "No such file" not in ((data := following())["trouble"] or ""):
            pass
        assert data["best"][0]["value"] == 2.0, "what was known stays"
        view.rename(folder / "logbooks")
        while following()["trouble"]:
            pass
        good = header.read_text()
        header.write_text(good[: len(good) // 2] + "\n  : [")
        while not following()["trouble"]:
            pass
        header.write_text(good)
        while following()["trouble"]:
            pass
    assert process.returncode == 130


@pytest.mark.slow
def test_on_a_terminal(started: Cli, folder: Path) -> None:
    assert started("run", "--", "echo", "RESULT tflops=2").code == 0
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        terminal, own = pty.openpty()
        process = subprocess.Popen(
            [*LOGBOOK, "watch"], cwd=folder, env={**os.environ, "TERM": "xterm"}, stdin=own, stdout=own, stderr=own
        )
        os.close(own)
        found, is_asked = b"", False
        with contextlib.suppress(OSError), killed_if_late(process):  # the other end is closed
            while piece := os.read(terminal, 65536):
                if b"MOE-000" in piece and not is_asked:
                    process.send_signal(number)
                    is_asked = True
                found += piece
        os.close(terminal)
        assert process.wait(timeout=20) == code
        assert found.count(b"\x1b[?1049h") == found.count(b"\x1b[?1049l") == 1, "the screen is put back"
        assert b"tflops so far: 2.000 TF/s" in found.partition(b"\x1b[?1049l")[2], "what was seen last stays"
        assert b"\x1b[3" not in found, "NO_COLOR"
