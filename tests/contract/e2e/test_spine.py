"""The shortest use: a command alone, without a word about it."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.conftest import Cli
from tests.stored import at


def test_a_command_alone_is_a_complete_entry(started: Cli, folder: Path) -> None:
    ran = started("run", "--json", "--", sys.executable, "-c", "print('METRIC answer=42 apples')")
    assert ran.code == 0
    [run] = ran.data["runs"]
    assert run["rows"] == [{"config": {}, "metrics": {"answer": {"median": 42, "n": 1, "unit": "apples"}}}]
    assert ran.data["id"] == "MOE-000"
    entry = at(folder / "logbooks/moe/entries/MOE-000.yaml").read_text()
    assert "Hypothesis" not in entry, "what was not stated is not invented"
    assert "answer: 42 apples" in (folder / "logbooks/moe.md").read_text()
