"""`show --json`: an entry in brief, from the data of its runs."""

from __future__ import annotations

import json
from typing import Any

from logbook_agent.findings.brief_entry import LIMIT_BYTES, brief


def _entry(runs: int, failed: int = 0) -> dict[str, Any]:
    made = []
    for run in range(1, runs + 1):
        row = {
            "config": {"mode": "ab"[run % 2], "size": 8, "none": None},
            "metrics": {name: {"median": run / 7, "n": 10, "unit": "s"} for name in ("time_s", "other_s")},
            "observations": {"compile_s": run / 3, "flops": 7.0},
        }
        made.append(
            {
                "run": run,
                "label": None,
                "state": "failed" if run <= failed else "finished",
                "discarded": False,
                "command": f"bench --mode {'ab'[run % 2]}",
                "started": "2026-02-10",
                "duration_s": 1.0,
                "exit": {"code": 0},
                "commit": "abc",
                "busy": None,
                "rows": [row],
                "tail": ["RESULT"],
                "problems": [],
                "log": "/x",
            }
        )
    return {"id": "A-000", "confidence": None, "fields": [], "answer": None, "runs": made}


def test_runs_that_failed_and_the_newest_stay() -> None:
    found = brief(_entry(900, failed=2), ["time_s"])
    shown = [run["run"] for run in found["runs"]]
    assert len(json.dumps(found, indent=1)) <= LIMIT_BYTES
    assert shown == [1, 2, *range(901 - len(shown) + 2, 901)]
    assert len(shown) > 10
    assert found["left_out"]["runs"] == 900 - len(shown)
    assert found["runs"][0]["tail"] == ["RESULT"]
    assert found["runs"][0]["log"] == "/x"
