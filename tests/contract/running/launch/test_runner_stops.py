"""Requests to stop that come between two runs of a series end it as those during a run do. Real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.campaign.recipes.sweep_support import RECIPE, runs_of, write_recipe
from tests.contract.e2e.e2e_support import LOGBOOK

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


# Sends itself a signal just before the record of the third run is begun: no command is under way then.
BETWEEN = """
import os, sys
from tests.seams import logbook as main
from logbook_agent.store.book import Book
new_run, count = Book.new_run, 0
def stopped(book, entry_id):
    global count
    count += 1
    if count == 3:
        os.kill(os.getpid(), int(sys.argv[1]))
    return new_run(book, entry_id)
Book.new_run = stopped
sys.exit(main(sys.argv[2:]))
"""


AB = ("ab", "--axis", "mode=old,new", "--repeat", "40", "--", "bash", "bench.sh", "1", "{axis}")


def begun(*words: str, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        words, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def between(number: int, *words: str, cwd: Path) -> tuple[int, str, str]:
    process = begun(sys.executable, "-c", BETWEEN, str(int(number)), *words, cwd=cwd)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def is_whole(folder: Path, runs: int) -> bool:
    """Every run has an end, no marker is left, and the view tells of the entry."""
    markers = [p for p in (folder / "logbooks/moe/open").iterdir() if not p.name.startswith(".")]
    made = runs_of(folder)
    assert "MOE-000" in (folder / "logbooks/moe.md").read_text()
    return len(made) == runs and all(run.exit is not None for run in made) and not markers


@pytest.mark.parametrize("number", STOPS)
@pytest.mark.sample(1)
@pytest.mark.slow
def test_a_sweep_is_torn_down_and_says_how_to_go_on(started: Cli, folder: Path, number: int) -> None:
    write_recipe(folder, RECIPE + "setup: [[echo, allocate]]\nteardown: [[touch, released]]\n")
    code, out, err = between(number, "sweep", "demo", "--set", "repeats=20", cwd=folder)
    assert code == 130, err
    assert "problem: interrupted after 1 of 160 runs; to run the rest: logbook sweep --resume MOE-000" in out
    assert (folder / "released").exists()
    assert is_whole(folder, runs=4), "setup, a run, the one that was cut off, teardown"
    assert started("list", "--json").data[0]["state"] == "interrupted"
    assert started("doctor").code == 0


@pytest.mark.slow
def test_repeats_say_how_to_go_on(started: Cli, folder: Path) -> None:
    code, _, err = between(signal.SIGINT, "run", "--repeat", "60", "--", "echo", "x", cwd=folder)
    assert code == 130, err
    again = "the same command with --id MOE-000 --repeat 58"
    assert f"warning: interrupted after 2 of 60 runs; to run the rest: {again}" in err
    assert is_whole(folder, runs=3)


@pytest.mark.slow
@pytest.mark.parametrize("words", [("sweep", "demo", "--new", "--set", "repeats=20"), AB])
@pytest.mark.parametrize("delay_s", [0.0, 0.013, 0.04, 0.11])
@pytest.mark.sample(3)
def test_ctrl_c_to_the_group_at_any_time(started: Cli, folder: Path, words: tuple[str, ...], delay_s: float) -> None:
    write_recipe(folder, RECIPE + "teardown: [[touch, released]]\n")
    process = begun(*LOGBOOK, *words, cwd=folder)
    records = folder / "logbooks/moe/runs/MOE-000"
    until = time.monotonic() + 30
    while len(list(records.glob("*/run.json"))) < 3 and time.monotonic() < until:
        time.sleep(0.002)
    time.sleep(delay_s)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "MOE-000" in out
    assert is_whole(folder, runs=len(runs_of(folder)))
    assert words is AB or (folder / "released").exists()


@pytest.mark.slow
def test_two_sweeps_that_begin_at_once_make_one_entry(started: Cli, folder: Path) -> None:
    write_recipe(folder, bench="sleep 0.3; echo RESULT size=$1 mode=$2 tflops=$1\n")
    both = [begun(*LOGBOOK, "sweep", "demo", cwd=folder) for _ in range(2)]
    errors = [process.communicate(timeout=60)[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 3], errors
    refused = next(e for e, process in zip(errors, both, strict=True) if process.returncode == 3)
    assert "MOE-000 is being run by pid " in refused
    assert f" on {os.uname().nodename}\n" in refused
    assert "'Sweep demo' is in progress there" in refused
    assert "wait until it ends (progress: logbook show MOE-000), or start another: logbook sweep demo --new" in refused
    assert [p.name for p in (folder / "logbooks/moe/entries").iterdir()] == ["MOE-000.yaml"]
