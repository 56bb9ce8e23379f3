"""A launcher whose log comes later than the state of the job."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.running.executors.conftest import settings
from tests.seams import Store

pytestmark = pytest.mark.slow

LAUNCHER = """#!/bin/sh
cd {place}
case $1 in
submit) shift; "$@" >log 2>&1; date +%s >ended; echo 7 ;;
state) echo succeeded ;;
logs) if [ $(($(date +%s) - $(cat ended))) -ge {lag} ]; then cat log; else head -n 1 log; fi; {more} ;;
esac
"""
WORDS = {"submit": "command", "state": "id", "logs": "id"}
PRINTS = ("--", "sh", "-c", "echo begin; echo METRIC x=1; echo METRIC x=2")


@pytest.fixture
def launcher(cli: Cli, tmp_path: Path) -> Path:
    program = tmp_path / "launcher"
    cli("start", "t", "--prefix", "T", "--metric", "x:min")
    lines = "\n".join(f'{name} = ["{program}", "{name}", "{{{word}}}"]' for name, word in WORDS.items())
    settings().write_text(f'[executors.q]\nkind = "command"\npoll_s = 0.2\n{lines}\n')
    return program


def install(program: Path, *, lag: int = 0, more: str = "true") -> None:
    program.write_text(LAUNCHER.format(place=program.parent, lag=lag, more=more))
    program.chmod(0o755)


@pytest.mark.parametrize("detached", [False, True])
def test_the_last_lines_are_collected(launcher: Path, cli: Cli, folder: Path, detached: bool) -> None:
    install(launcher, lag=3)
    answer = cli("run", *(["--detach"] if detached else []), "--on", "q", *PRINTS)
    assert answer.code == 0, answer.err
    assert cli("wait").code == 0
    run = Store(folder, "t").run("T-000", 1)
    assert run.rows[0].metrics["x"].samples == [1.0, 2.0]
    assert not run.problems


def test_a_log_that_grows_on_and_on_has_no_end(launcher: Path, cli: Cli, folder: Path) -> None:
    settings().write_text(settings().read_text() + "log_lag_s = 0.3\n")
    install(launcher, more="cat log; date +%N")
    began = time.monotonic()
    assert cli("run", "--on", "q", *PRINTS).code == 0
    assert time.monotonic() - began < 20
    [problem] = [p for p in Store(folder, "t").run("T-000", 1).problems if p.grade == "withheld"]
    assert "end of the log is missing" in problem.text
