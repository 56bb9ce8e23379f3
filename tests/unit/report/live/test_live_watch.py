"""`logbook watch`: what goes on, at once, and nothing of the logbook is touched."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from logbook_agent.findings.progress import RunProgress
from logbook_agent.report.live.watch_lines import lines_of


def text_of(data: dict[str, Any], now: datetime, width: int | None = None, height: int | None = None) -> list[str]:
    return ["".join(part for part, _ in line) for line in lines_of(data, now, width=width, height=height)]


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
