"""What is open: every reader says the same of an entry that waits for something."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.stored import at


@pytest.fixture
def interrupted(started: Cli, folder: Path) -> Cli:
    """A logbook with MOE-000, an A/B that was stopped."""
    assert started("run", "--next", "The other half.", "--", "echo", "RESULT tflops=1").code == 0
    path = at(folder / "logbooks/moe/runs/MOE-000/01/run.json")
    run = json.loads(path.read_text())
    run["exit"] = {"signal": "SIGINT", "interrupted": True}
    path.write_text(json.dumps(run))
    assert started("list", "--json").data[0]["state"] == "interrupted"
    return started


def opened(cli: Cli) -> dict[str, list[str]]:
    return {state: [e["id"] for e in found] for state, found in cli("status", "--json").data["open"].items()}


def issue(cli: Cli, folder: Path) -> str:
    assert cli("sync", "--offline", "out").code == 0
    return (folder / "out/issue.md").read_text().partition("## Open")[2].partition("\n## ")[0]


@pytest.mark.slow
def test_what_a_finished_entry_completes_is_not_open(interrupted: Cli, folder: Path) -> None:
    assert opened(interrupted) == {"interrupted": ["MOE-000"]}
    assert "MOE-000" in issue(interrupted, folder)
    # One that failed completes nothing.
    assert interrupted("run", "--completes", "MOE-000", "--", "false").code == 1
    assert opened(interrupted) == {"interrupted": ["MOE-000"]}
    assert interrupted("run", "--completes", "MOE-000", "--", "echo", "RESULT tflops=2").code == 0
    assert opened(interrupted) == {}
    assert "MOE-000" not in issue(interrupted, folder)
    assert interrupted("edit", "MOE-002", "--state", "void").code == 0
    assert opened(interrupted) == {"interrupted": ["MOE-000"]}
