"""The story of int8 from kickoff to conclusion by an agent that is killed after each step and remembers nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.agents.mcp.scripted_agent import GOAL
from tests.conftest import REPOSITORY, Cli

pytestmark = pytest.mark.slow

# What differs between two logbooks of one story: times, places, load.
_TIMES = {"opened", "started", "ended", "duration_s", "busy", "log", "view", "entry", "commit"}


def begin(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new folder with the logbook, which a person starts and lets the agent run commands in."""
    folder.mkdir()
    monkeypatch.chdir(folder)
    config = Path(os.environ["XDG_CONFIG_HOME"]) / "logbook-agent/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f"allow_run = [{json.dumps(str(folder / 'logbooks'))}]\n")
    words = ["--prefix", "MOE-I8", "--metric", "tflops:max:TF/s", "--goal", GOAL]
    assert cli("start", "moe_int8", *words).code == 0
    predicate = "verdict: {axis: quant_mode, values: [none, int8], min_effect: 0.05}"
    assert cli("criteria", "--add", "The question is answered.", "--predicate", predicate).code == 0


def agent(folder: Path, *options: str) -> subprocess.Popen[str]:
    argv = [sys.executable, "-m", "tests.agents.mcp.scripted_agent", str(folder), *options]
    environ = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    return subprocess.Popen(argv, cwd=REPOSITORY, env=environ, stdout=subprocess.PIPE, text=True)


def killed(process: subprocess.Popen[str]) -> None:
    """End the agent and its server at once, as a crash does; what the server has started goes on."""
    servers = [child for child in psutil.Process(process.pid).children() if "mcp" in child.cmdline()]
    process.kill()
    for server in servers:
        server.kill()
    process.wait()


def told(cli: Cli) -> Any:
    """All that a logbook says, but for times."""
    ids = [one["id"] for one in cli("list", "--json").data]
    said = {name: cli(*name.split(), "--json").data for name in ("status", "criteria", *(f"show {i}" for i in ids))}
    return without_times(said)


def without_times(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: without_times(value) for key, value in data.items() if key not in _TIMES}
    return [without_times(value) for value in data] if isinstance(data, list) else data


def test_an_agent_that_is_killed_after_each_step_ends_where_another_does(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(cli, folder / "one", monkeypatch)
    whole = agent(folder / "one")
    out = whole.communicate(timeout=300)[0]
    assert whole.returncode == 0, out[-2000:]
    wanted = told(cli)
    [criterion] = wanted["criteria"]["criteria"]
    assert criterion["state"] == "met", criterion

    begin(cli, folder / "two", monkeypatch)
    kills = 0
    while kills < 60:
        process = agent(folder / "two", "--once")
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line == "killed here\n":
                killed(process)
                kills += 1
                break
        if lines[-1] != "killed here\n":
            assert process.wait() == 0, lines[-1][-2000:]
            break
    assert kills >= 8
    assert told(cli) == wanted
