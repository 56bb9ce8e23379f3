"""The story of int8 from kickoff to conclusion by an agent that is killed after each step and remembers nothing."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.conftest import REPOSITORY, Cli
from tests.contract.agents.mcp.scripted_agent import BENCH, GOAL, transcript

pytestmark = [pytest.mark.slow, pytest.mark.wide]

# What differs between two logbooks of one story: times, places, load.
_TIMES = {"opened", "started", "ended", "duration_s", "busy", "log", "view", "entry", "commit"}


def begin(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new folder with the logbook, which a person starts and lets the agent run commands in."""
    folder.mkdir()
    (folder / "bench.py").write_text(BENCH)
    monkeypatch.chdir(folder)
    config = Path(os.environ["XDG_CONFIG_HOME"]) / "logbook-agent/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f"allow_run = [{json.dumps(str(folder / 'logbooks'))}]\n")
    words = ["--prefix", "MOE-I8", "--metric", "tflops:max:TF/s", "--goal", GOAL]
    assert cli("start", "moe_int8", *words).code == 0
    predicate = "verdict: {axis: quant_mode, values: [none, int8], min_effect: 0.05}"
    assert cli("criteria", "--add", "The question is answered.", "--predicate", predicate).code == 0


def agent(folder: Path, *options: str) -> subprocess.Popen[str]:
    argv = [sys.executable, "-m", "tests.contract.agents.mcp.scripted_agent", str(folder), *options]
    environ = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    return subprocess.Popen(argv, cwd=REPOSITORY, env=environ, stdout=subprocess.PIPE, text=True)


def killed(process: subprocess.Popen[str]) -> None:
    """End the agent and its server at once, as a crash does; what the server has started goes on."""
    servers = [child for child in psutil.Process(process.pid).children() if "mcp" in child.cmdline()]
    process.kill()
    for server in servers:
        server.kill()
    process.wait()


def in_tutorial() -> list[str]:
    """The calls that the tutorial shows."""
    text = (REPOSITORY / "docs/tutorial.md").read_text(encoding="utf-8")
    found = re.search(r"```text calls\n(.*?)```", text, re.DOTALL)
    assert found is not None
    return re.sub(r"\n +", " ", found[1]).splitlines()


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
    # (A run may have ended before anybody waits for it.)
    made, shown = (
        [call for call in calls if "wait" not in call] for calls in (transcript(out.splitlines()), in_tutorial())
    )
    assert made == shown
    wanted = told(cli)
    [criterion] = wanted["criteria"]["criteria"]
    assert criterion["met"] is True, criterion

    begin(cli, folder / "two", monkeypatch)
    kills = 0
    while kills < 60:
        with agent(folder / "two", "--once") as process:
            assert process.stdout is not None
            lines = list(itertools.takewhile(lambda line: line != "killed here\n", process.stdout))
            if lines[-1] == "nothing is left to do\n":
                break
            killed(process)
            kills += 1
    assert process.returncode == 0
    assert kills >= 8
    assert told(cli) == wanted
