"""A sweep whose cases are jobs of Slurm, under kills at random instants: of its client, a worker with its job, or a
slurmd; cancelled jobs, jobs that lose their node to others, and a head that restarts. `scripts/stress` has 50."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from pathlib import Path

import psutil
import pytest

from tests.breadth import STRESS
from tests.conftest import Cli
from tests.contract.campaign.recipes.sweep_support import RECIPE, runs_of, write_recipe
from tests.contract.e2e.e2e_support import logbook
from tests.contract.engines.slurm_engine import Slurm
from tests.contract.engines.slurm_place import SlurmPlace, processes_inside
from tests.contract.running.executors.conftest import assert_each_once, series, settings, wait_for

KILLS = 50 if STRESS else 5
CASES = 40 if STRESS else 8
TEXT = RECIPE.replace("size: [1, 2, 3, 4]", f"size: [{', '.join(map(str, range(1, CASES // 2 + 1)))}]")
# One case waits until nobody is left to be killed.
WAITS = f'if [ "$1 $2" = "{CASES // 2} old" ]; then until [ -e calm ]; do sleep 0.1; done; fi'
BENCH = f'sleep 0.3; {WAITS}; echo "RESULT size=$1 mode=$2 tflops=$(($1 * 10))"\n'
KINDS = ("client", "client", "worker", "cancel", "preempt", "slurmd", "slurmctld")
PATIENCE_S = 90.0


def ours(place: SlurmPlace) -> list[int]:
    """Processes of this logbook's workers and their commands, by our numbers for them."""
    found = []
    for process, _ in processes_inside():
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{process.pid}/cmdline").read_bytes().decode().split("\0")
            here = os.readlink(f"/proc/{process.pid}/cwd") == str(place.folder)  # noqa: PTH115
            if here or any(word.startswith(f"{place.shared}/") for word in words):
                found.append(process.pid)
    return found


def strike(chance: random.Random, slurm: Slurm, place: SlurmPlace, what: str) -> bool:
    """Do it, if there is somebody to do it to."""
    if what == "client":
        victims = series(place.folder)
        for victim in victims:
            with contextlib.suppress(psutil.Error):
                victim.kill()
        return bool(victims and wait_for(lambda: not series(place.folder)))
    if what in ("slurmd", "slurmctld"):
        name = chance.choice(("n1", "n2")) if what == "slurmd" else what
        slurm.order("kill" if what == "slurmd" else "stop", name)
        time.sleep(chance.uniform(0.1, 1.0))
        slurm.order("start", name)
        return True
    if what == "worker":
        pids = ours(place)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return bool(pids)
    running = [job for job in place.jobs() if slurm.state(job) in ("PENDING", "RUNNING")]
    if not running:
        return False
    if what == "cancel":
        slurm.ask("scancel", running[0])
    else:
        for node in ("n1", "n2"):
            slurm.submit("sleep 1", "--partition=high", "--exclusive", f"--nodelist={node}")
    return True


@pytest.mark.parametrize("at_once", [(), ("--parallel", "3")], ids=["one by one", "three at once"])
def test_a_sweep_under_kills(slurm: Slurm, queue: SlurmPlace, started: Cli, at_once: tuple[str, ...]) -> None:
    folder = queue.folder
    write_recipe(folder, TEXT, bench=BENCH)
    if at_once:
        settings().write_text(f"{settings().read_text()}equivalent = true\n")
    chance = random.Random(KILLS)
    # Three at once are done before long.
    left = [KINDS[place % len(KINDS)] for place in range(KILLS // 3 if at_once else KILLS)]
    chance.shuffle(left)
    words = ("sweep", "demo", "--on", queue.name, *at_once)
    deadline = time.monotonic() + (3600 if STRESS else 400)
    while True:
        assert time.monotonic() < deadline, (left, slurm.ask("squeue"))
        if not series(folder):
            if at_once and words[1] == "--id" and started("list", "--json").data[0]["state"] == "finished":
                break
            done = logbook(*words, "--detach", cwd=folder)
            assert done.returncode == 0, done.stderr.decode()
            words = ("sweep", "--id", "MOE-000", *at_once)
        if not left:
            (folder / "calm").touch()
            if started("wait", "MOE-000").code == 0:
                break
            continue
        time.sleep(chance.uniform(0.2, 3.0))
        if strike(chance, slurm, queue, left[-1]):
            left.pop()
    runs = runs_of(folder)
    assert_each_once(runs, CASES)
    assert wait_for(lambda: not ours(queue), within_s=PATIENCE_S), "no process of ours is left"
    assert wait_for(lambda: not jobs_left(slurm, queue), within_s=PATIENCE_S), "and no job"
    assert queue.spools() == [], "nor what a run left there"
    started("doctor", "--fix")  # temporary files of writes that were cut off, and folders of runs before their start
    assert started("doctor").code == 0


def jobs_left(slurm: Slurm, place: SlurmPlace) -> list[str]:
    told = slurm.ask("squeue", "--noheader", "--states=PENDING,RUNNING,COMPLETING", "--format=%Z")
    return [folder for folder in told.splitlines() if folder.startswith(f"{place.shared}/")]
