"""`logbook watch`: what goes on, at once, and nothing of the logbook is touched."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from logbook_agent.findings.progress import RunProgress, remaining_s
from logbook_agent.report.live.follower import Marks
from logbook_agent.report.live.watch_lines import lines_of
from logbook_agent.store.book import Book
from tests.conftest import Cli
from tests.contract.report.live.live_support import wait_for

PAGE = [("Int8 (moe, MOE)", "title")]


def text_of(data: dict[str, Any], now: datetime, width: int | None = None, height: int | None = None) -> list[str]:
    return ["".join(part for part, _ in line) for line in lines_of(data, PAGE, now, width=width, height=height)]


def test_what_is_said_of_a_run() -> None:
    now = datetime(2026, 2, 10, 10, 43, tzinfo=UTC)
    progress = RunProgress(made=3, total=12, at_most=True, expected_s=540.0)
    one = {
        "id": "MOE-003", "run": 4, "label": None, "title": "Int8", "state": "running", "executor": None, "host": "vm",
        "since": (now - timedelta(seconds=130)).isoformat(), "heartbeat": (now - timedelta(minutes=3)).isoformat(),
        "printed": None, "ended": None, "said": None, "trouble": "no answer", "lines": [], "last": "RESULT tflops=3",
        "progress": progress,
    }  # fmt: skip
    data = {"running": [one], "series": [], "trouble": None}
    assert text_of(data, now) == [
        "10:43:00 UTC",
        "",
        "running (1)",
        "  MOE-003/04  Int8  running  vm, heartbeat 3 min 00 s ago (late)",
        "    █████░░░░░░░░░░░░░░░  3 of at most 12 runs, for 2 min 10 s, about 6 min 50 s left",
        "    no answer",
        "    │ RESULT tflops=3",
        "",
        "Int8 (moe, MOE)",
    ]
    assert [len(line) for line in text_of(data, now, width=20)] == [12, 0, 11, 20, 20, 13, 20, 0, 15]
    assert text_of(data, now, width=40, height=5)[-1] == "and 6 more lines: make the window taller"
    assert remaining_s(8, 60.0, 4) == 120.0
    # Four runs of 3.6 s, eight at a time, take as long as one.
    assert remaining_s(4, 3.6, 8) == 3.6
    assert remaining_s(5, 10.0, 4) == 20.0


def test_a_look_that_was_held_up_delays_no_other(started: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine that is very busy, or when its process was stopped."""
    real = Marks._marks
    monkeypatch.setattr(Marks, "_marks", lambda marks: (time.sleep(0.2), real(marks))[1])
    marks = Marks(Book(folder / "logbooks", "moe"))
    assert marks.have_changed()
    assert started("note", "--title", "One").code == 0
    wait_for(marks.have_changed, within_s=3)
