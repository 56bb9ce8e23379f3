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
from tests.contract.issue.sync_support import settings
from tests.emulator.fixtures import Hub, github, github_server
from tests.seams import Store, marked

__all__ = ["github", "github_server"]

pytestmark = [pytest.mark.slow, pytest.mark.wide]

# What differs between two logbooks of one story: times, places, load.
_TIMES = {
    *("opened", "started", "ended", "at", "duration_s", "busy", "log", "view", "entry", "commit", "issue", "code"),
    "copy",
}


def begin(cli: Cli, folder: Path, github: Hub, monkeypatch: pytest.MonkeyPatch) -> str:
    """A new folder with the logbook, which a person starts and lets the agent run commands in; the repository for its
    issue."""
    folder.mkdir()
    repo = github.new_repo()
    (folder / "logbook.toml").write_text(settings(github, repo))
    monkeypatch.setenv("GH_ENTERPRISE_TOKEN", github.token)
    monkeypatch.setenv("GH_HOST", github.host)
    (folder / "bench.py").write_text(BENCH)
    monkeypatch.chdir(folder)
    config = Path(os.environ["XDG_CONFIG_HOME"]) / "logbook-agent/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f"allow_run = [{json.dumps(str(folder / 'logbooks'))}]\n")
    words = ["--prefix", "MOE-I8", "--metric", "tflops:max:TF/s", "--goal", GOAL]
    assert cli("start", "moe_int8", *words).code == 0
    predicate = "compared: {axis: quant_mode, values: [none, int8], settled: true, min_effect: 0.05}"
    assert cli("criteria", "--add", "The question is answered.", "--predicate", predicate).code == 0
    assert cli("criteria", "--add", "What follows is written down.").code == 0
    return repo


def in_issue(folder: Path, github: Hub, repo: str) -> list[str]:
    """The entries that the comments of the one issue tell of."""
    [issue] = github.issues(repo)
    assert "int8 pays here." in issue["body"]
    found = [marked(Store(folder, "moe_int8"), body) for body in github.bodies(repo, issue["number"])]
    return [entry for one in found if one is not None for entry in one.entries]


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


def expected() -> list[str]:
    """The calls of the script, one a line."""
    text = (Path(__file__).parent / "story_calls.txt").read_text(encoding="utf-8")
    return re.sub(r"\n +", " ", text).splitlines()


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
    cli: Cli, folder: Path, github: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = begin(cli, folder / "one", github, monkeypatch)
    whole = agent(folder / "one")
    out = whole.communicate(timeout=300)[0]
    assert whole.returncode == 0, out[-2000:]
    # (A run may have ended before anybody waits for it.)
    made, shown = (
        [call for call in calls if "wait" not in call] for calls in (transcript(out.splitlines()), expected())
    )
    assert made == shown
    wanted = told(cli)
    assert [criterion["met"] for criterion in wanted["criteria"]["criteria"]] == [True, True], wanted["criteria"]
    assert wanted["status"]["decisions"]
    assert "int8 gains +9.95% (95%: " in cli("show", "MOE-I8-002").out
    entries = in_issue(folder / "one", github, repo)
    assert sorted(entries) == [f"MOE-I8-00{n}" for n in range(4)]

    repo = begin(cli, folder / "two", github, monkeypatch)
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
    assert kills >= 10
    assert told(cli) == wanted
    assert in_issue(folder / "two", github, repo) == entries
