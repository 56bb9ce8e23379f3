"""A sweep that is killed at random points and taken up again has one row per case in the end."""

from __future__ import annotations

import csv
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.breadth import wide
from tests.conftest import Cli
from tests.contract.campaign.recipes.sweep_support import COMPARED, runs_of, write_recipe
from tests.stored import at

ENTRY = "logbooks/moe/entries/MOE-000.yaml"


def sweep(folder: Path) -> list[str]:
    """The command that begins the sweep, or goes on with it."""
    return ["sweep", "--id", "MOE-000"] if at(folder / ENTRY).exists() else ["sweep", "demo"]


def is_killed(folder: Path, more_runs: int, delay_s: float) -> bool:
    """Whether a sweep was still going on when it was killed, a moment after it had begun so many more runs."""
    wanted = _count(folder) + more_runs
    process = subprocess.Popen(
        [sys.executable, "-m", "logbook_agent", *sweep(folder)],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while process.poll() is None and _count(folder) < wanted:
        time.sleep(0.002)
    time.sleep(delay_s)
    if process.poll() is not None:
        return False
    process.send_signal(signal.SIGKILL)
    process.wait()
    return True


def _count(folder: Path) -> int:
    return len(list(folder.glob("logbooks/moe/runs/MOE-000.*/*")))


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "most_kills"), [(6, 3), wide(100, 15)])
def test_killed_and_taken_up_again(started: Cli, folder: Path, sizes: int, most_kills: int) -> None:
    text = COMPARED.replace("[1, 2, 3, 4]", f"{{from: 1, to: {sizes}, step: 1}}")
    write_recipe(folder, text + "confirm: 10\nsetup: [[echo, allocate]]\nteardown: [[echo, release]]\n")
    chance = random.Random(sizes)
    kills = 0
    while kills < most_kills and is_killed(folder, chance.randint(1, sizes // 2), chance.uniform(0, 0.05)):
        kills += 1
    assert kills > 0
    resumed = started(*sweep(folder))
    assert resumed.code == 0, resumed.err
    assert f"{2 * sizes} of {2 * sizes} rows, none failed" in resumed.out
    assert f"best while exploring: size={sizes} mode=new: tflops {10 * sizes} TF/s" in resumed.out
    with at(folder / "logbooks/moe/runs/MOE-000/sweep.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    cases = [(row["size"], row["mode"]) for row in rows]
    assert sorted(cases) == sorted((str(s), m) for s in range(1, sizes + 1) for m in ("old", "new"))
    # Nor does any other run that came to its end hold a row, but the pairs; what was cut off was made again.
    ended = [run for run in runs_of(folder) if run.exit is not None and not run.exit.interrupted]
    measured = [run.label for run in ended for _ in run.rows or ()]
    assert {*measured} == {None, "comparison"}
    assert (measured.count(None), measured.count("comparison")) == (2 * sizes, 20)
    [entry] = started("list", "--json").data
    assert entry["state"] == "finished"
    # All values are equal: their clock may be of any coarseness, and nothing can be settled.
    [finding] = started("compare", "MOE-000", "--json").data["answer"]["findings"]
    assert (finding["outcome"], finding["notes"]) == ("open", ["all values are the same"])
    # A kill between a record and the removal of its marker leaves the marker; one before the record an empty folder,
    # which is somebody's at work until it is old.
    for run in at(folder / "logbooks/moe/runs/MOE-000").iterdir():
        if run.is_dir() and not (run / "run.json").exists():
            os.utime(run, (0, 0))
    assert started("doctor", "--fix").code == 0
    assert started("doctor").code == 0
    assert not at(folder / "logbooks/moe/entries/MOE-001.yaml").exists()
