"""Requests to stop that come between two runs of a series end it as those during a run do. Real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.campaign.recipes.sweep_support import RECIPE, runs_of, write_recipe
from tests.contract.e2e.e2e_support import LOGBOOK
from tests.seams import Store

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


# The third command sends a signal to what runs it.
STOPPED = """
echo x >> made; [ $(wc -l < made) -lt 2 ] || { kill -NUMBER $PPID; sleep 5; }
echo "RESULT size=$1 mode=$2 tflops=$(($1 * 10))"
"""


AB = ("ab", "--axis", "mode=old,new", "--pairs", "40", "--", "bash", "bench.sh", "1", "{axis}")


def begun(*words: str, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        words, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


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
    bench = STOPPED.replace("NUMBER", str(int(number)))
    write_recipe(folder, RECIPE + "setup: [[echo, allocate]]\nteardown: [[touch, released]]\n", bench=bench)
    process = begun(*LOGBOOK, "sweep", "demo", "--set", "repeats=20", cwd=folder)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "1 of 160" in out
    assert "logbook sweep --id MOE-000" in out
    assert (folder / "released").exists()
    assert is_whole(folder, runs=4), "setup, a run, the one that was cut off, teardown"
    assert started("list", "--json").data[0]["state"] == "interrupted"
    assert started("doctor").code == 0


@pytest.mark.slow
@pytest.mark.parametrize("words", [("sweep", "demo", "--new", "--set", "repeats=20"), AB])
@pytest.mark.parametrize("delay_s", [0.0, 0.04])
@pytest.mark.sample(2)
def test_ctrl_c_to_the_group_at_any_time(started: Cli, folder: Path, words: tuple[str, ...], delay_s: float) -> None:
    write_recipe(folder, RECIPE + "teardown: [[touch, released]]\n")
    process = begun(*LOGBOOK, *words, cwd=folder)
    until = time.monotonic() + 30
    while len(list(folder.glob("logbooks/moe/runs/MOE-000.*/*/run.json"))) < 3 and time.monotonic() < until:
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
    assert all(word in refused for word in ("MOE-000", os.uname().nodename, "logbook sweep demo --new"))
    assert Store(folder).entry_ids() == ["MOE-000"]
