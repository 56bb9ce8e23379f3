"""`logbook watch`: what goes on, at once, and nothing of the logbook is touched."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from logbook_agent.findings.progress import RunProgress
from logbook_agent.report.live.activity import Activity
from logbook_agent.report.live.follower import Follower, Marks
from logbook_agent.report.live.watch_lines import lines_of
from logbook_agent.store.workspace import Workspace
from tests.conftest import Cli, book_of
from tests.e2e.e2e_support import LOGBOOK
from tests.report.live.live_support import GO, killed_if_late, running, whole
from tests.running.executors.conftest import wait_for

SLOW = ("sh", "-c", f"printf 'step 1\\n\\033[31mred\\033[0m \\342\\200\\256 <b>\\n'; {GO}; echo RESULT tflops=3")


def text_of(data: dict[str, Any], now: datetime, width: int | None = None, height: int | None = None) -> list[str]:
    return ["".join(part for part, _ in line) for line in lines_of(data, now, width=width, height=height)]


@pytest.mark.slow
def test_a_snapshot_where_there_is_no_terminal(started: Cli, folder: Path) -> None:
    assert started("run", "--title", "First", "--", "echo", "RESULT tflops=2").code == 0
    assert started("run", "--title", "Slow", "--label", "A", "--detach", "--", *SLOW).code == 0
    book = book_of(folder)
    wait_for(lambda: "red" in started("show", "MOE-001", "--log").out)
    wait_for(lambda: book.spool(book.run("MOE-001", 1)).has("heartbeat.json"))
    before = whole(folder)
    shown = started("watch")
    assert shown.code == 0
    assert whole(folder) == before, "not even an index"
    lines = shown.out.splitlines()
    assert lines[0].startswith("moe  MOE, 2 entries  ")
    [at] = [n for n, line in enumerate(lines) if line.startswith("  MOE-001/01 A  Slow  running  local on ")]
    assert "heartbeat " in lines[at]
    assert lines[at + 2 : at + 4] == ["    │ step 1", "    │ red \\u202e <b>"]
    assert "  tflops 2.000 TF/s  MOE-000  1 run" in lines
    (folder / "go").touch()
    spool = book.spool(book.run("MOE-001", 1))
    wait_for(lambda: spool.has("final.json") and not spool.is_held())
    before = whole(folder)
    shown = started("watch")
    assert "ended with exit code 0" in shown.out
    assert "not in the logbook yet: logbook status" in shown.out
    assert whole(folder) == before, "nothing is collected"
    assert started("status").code == 0
    assert "nothing is running" in started("watch").out


def test_no_text_turns_the_direction_of_what_follows(started: Cli) -> None:
    assert started("note", "--title", "a \u202egnp.exe\u2069").code == 0
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
        assert b"tflops 2.000 TF/s" in found.partition(b"\x1b[?1049l")[2], "what was seen last stays"
        assert b"\x1b[3" not in found, "NO_COLOR"


def test_what_is_said_of_a_run() -> None:
    now = datetime(2026, 2, 10, 10, 43, tzinfo=UTC)
    progress = RunProgress(made=3, total=12, is_at_most=True, usual_s=60.0, parallel=1)
    one = {
        "id": "MOE-003", "run": 4, "label": None, "title": "Int8", "state": "running", "executor": None, "host": "vm",
        "since": (now - timedelta(seconds=130)).isoformat(), "heartbeat": (now - timedelta(minutes=3)).isoformat(),
        "printed": None, "ended": None, "said": None, "trouble": "no answer", "lines": [], "last": "RESULT tflops=3",
        "progress": progress.data(),
    }  # fmt: skip
    data = {"running": [one], "series": [], "trouble": None}
    assert text_of(data, now) == [
        "",
        "running (1)",
        "  MOE-003/04  Int8  running  vm, heartbeat 3 min 00 s ago (late)",
        "    █████░░░░░░░░░░░░░░░  3 of at most 12 runs, for 2 min 10 s, about 6 min 50 s left",
        "    no answer",
        "    │ RESULT tflops=3",
    ]
    assert [len(line) for line in text_of(data, now, width=20)] == [0, 11, 20, 20, 13, 20]
    assert text_of(data, now, width=40, height=5)[-1] == "and 3 more lines: make the window taller"
    alone = RunProgress(made=0, total=None, is_at_most=False, usual_s=100.0, parallel=2)
    one |= {"progress": alone.data(), "trouble": None, "heartbeat": None, "lines": ["a", "b", "c", "d"]}
    assert text_of(data, now)[2:] == [
        "  MOE-003/04  Int8  running  vm, no output yet",
        "    for 2 min 10 s, 30 s longer than usual",
        "    │ b",
        "    │ c",
        "    │ d",
    ]
    unknown = RunProgress(made=0, total=None, is_at_most=False, usual_s=None, parallel=1)
    one |= {"progress": unknown.data(), "lines": []}
    assert text_of(data, now)[3] == "    for 2 min 10 s"
    assert RunProgress(made=2, total=10, is_at_most=False, usual_s=60.0, parallel=4).expected_s == 120.0
    # Four runs of 3.6 s, eight at a time, take as long as one.
    assert RunProgress(made=8, total=12, is_at_most=False, usual_s=3.6, parallel=8).expected_s == 3.6
    assert RunProgress(made=7, total=12, is_at_most=False, usual_s=10.0, parallel=4).expected_s == 20.0


@pytest.mark.slow
def test_every_change_is_seen(started: Cli, folder: Path) -> None:
    book = book_of(folder)
    marks = Marks(book)
    wait_for(lambda: not marks.have_changed())
    assert started("run", "--", "echo", "RESULT tflops=2").code == 0
    assert marks.have_changed()
    wait_for(lambda: not marks.have_changed())
    for path in (book.entry_path("MOE-000"), book.run_folder("MOE-000", 1) / "run.json", book.header_path):
        with path.open("a") as file:
            file.write("\n")
        wait_for(marks.have_changed, within_s=3)
    (folder / "logbooks/moe").rename(folder / "away")
    wait_for(marks.have_changed, within_s=1)
    (folder / "away").rename(folder / "logbooks/moe")
    wait_for(marks.have_changed, within_s=1)


def test_a_trouble_that_is_over_is_no_longer_told(started: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the files look as they did before: a folder was moved away, and back."""
    follower = Follower(lambda: Workspace(cwd=folder, environ=os.environ), "moe")
    with contextlib.closing(follower):
        assert follower.look().trouble is None
        with monkeypatch.context() as patched:
            patched.setattr(Activity, "look", lambda *_: (folder / "away").stat())
            assert "No such file" in (follower.look().trouble or "")
        assert follower.look().trouble is None


def test_a_look_that_was_held_up_delays_no_other(started: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine that is very busy, or when its process was stopped."""
    real = Marks._folders
    monkeypatch.setattr(Marks, "_folders", lambda marks: (time.sleep(0.2), real(marks))[1])
    marks = Marks(book_of(folder))
    assert marks.have_changed()
    assert started("note", "--title", "One").code == 0
    wait_for(marks.have_changed, within_s=3)
