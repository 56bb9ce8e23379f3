"""A sweep over the two nodes of a real Ray whose client is killed at random instants, and once a node and once the
driver: every case has one row, what was lost is named, and nothing runs on. `scripts/stress` has 50 of them.

`LOGBOOK_SEED` chooses other instants; `-s` shows each kill, with the cases that ran then.
"""

from __future__ import annotations

import contextlib
import functools
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import psutil

from tests.breadth import STRESS
from tests.conftest import Cli
from tests.contract.campaign.recipes.sweep_support import RECIPE, runs_of, write_recipe
from tests.contract.e2e.e2e_support import LOGBOOK, logbook
from tests.contract.engines.ray_engine import Ray
from tests.contract.engines.ray_place import LEASE_S, place_on
from tests.contract.engines.test_ray_faults import drivers
from tests.contract.running.executors.conftest import assert_each_once, is_cut_off, wait_for
from tests.stored import at

CASES, CLIENTS = (40, 50) if STRESS else (8, 4)
SEED = int(os.environ.get("LOGBOOK_SEED", "1"))
TEXT = RECIPE.replace("size: [1, 2, 3, 4]", f"size: [{', '.join(map(str, range(1, CASES // 2 + 1)))}]")
# However slow the machine is, the kills come while cases run: each of these waits for its share of them.
BENCH = """\
echo "$$ $LOGBOOK_RUN $1 $2" >> came
sleep 1
while [ "$(ls kills | wc -l)" -lt "$((($1 - 1) * KILLS / SIZES))" ]; do sleep 0.2; done
echo "RESULT size=$1 mode=$2 tflops=$(($1 * 10))"
"""
WORDS = ("sweep", "demo", "--on", "ray", "--parallel", "2")
AGAIN = ("sweep", "--id", "MOE-000", "--parallel", "2")
# So many of the clients are killed only when they are at work: a machine that is busy takes seconds to start them.
AT_WORK = 0.8
MOST_S = 1200.0 if STRESS else 300.0
PATIENCE_S = 60.0 + LEASE_S


def came(folder: Path) -> list[tuple[int, int]]:
    """The commands that were started: the process and the run of each."""
    file = folder / "came"
    lines = file.read_text().splitlines() if file.exists() else []
    return [(int(pid), int(run)) for pid, run, *_ in map(str.split, lines)]


def going(folder: Path) -> list[int]:
    """Of these, the processes that live; a number may be that of another by now."""
    found = []
    for pid, _ in came(folder):
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            if process.status() != psutil.STATUS_ZOMBIE and process.cmdline()[1:2] == ["bench.sh"]:
                found.append(pid)
    return found


def is_at_work(folder: Path, client: subprocess.Popen[bytes]) -> bool:
    """Whether this client carries out the sweep, and no longer loads its code; or it has ended."""
    return client.poll() is not None or any(folder.rglob(f".MOE-000*.{client.pid}.lock"))


def strike(what: str, ray: Ray, folder: Path, client: subprocess.Popen[bytes]) -> bool:
    """Kill it, if it is there to be killed in the midst of a case."""
    if what == "client":
        client.send_signal(signal.SIGKILL)
        client.wait()
        return True
    if not (going(folder) and drivers()):
        return False
    if what == "node":
        ray.kill("node")
        ray.mend()
    else:
        for process in drivers():
            process.kill()
    return True


def left_over(ray: Ray) -> list[list[str]]:
    """Processes of workers, and of what starts them."""
    words = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    return [line for line in words if any(word.startswith(f"{ray.folder}/") for word in line)]


def test_a_sweep_under_kills(ray: Ray, started: Cli, folder: Path) -> None:
    place_on(ray, started, folder, equivalent=True)
    chance, amid = random.Random(SEED), 0
    kills = ["client"] * CLIENTS
    for other in ("node", "driver"):
        kills.insert(chance.randrange(len(kills) // 4, len(kills)), other)
    print(f"seed {SEED}: {CASES} cases, {kills}", flush=True)
    bench = BENCH.replace("KILLS", str(len(kills))).replace("SIZES", str(CASES // 2))
    write_recipe(folder, TEXT, bench=bench)
    (folder / "kills").mkdir()
    began, left = time.monotonic(), list(kills)
    code = None
    while code != 0:
        assert time.monotonic() - began < MOST_S, (folder / "said").read_text()[-2000:]
        with (folder / "said").open("ab") as said:
            # One that was killed after its last run is taken up again, and begins no second sweep.
            words = AGAIN if at(folder / "logbooks/moe/entries/MOE-000.yaml").exists() else WORDS
            client = subprocess.Popen([*LOGBOOK, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=said)
        while left and client.poll() is None:
            if chance.random() < AT_WORK:
                wait_for(functools.partial(is_at_work, folder, client), within_s=MOST_S)
            with contextlib.suppress(subprocess.TimeoutExpired):
                client.wait(chance.uniform(0.0, 3.5))
            ran = len(going(folder))
            if client.poll() is None and strike(left[0], ray, folder, client):
                print(f"{time.monotonic() - began:6.1f} s: {left.pop(0)} killed, {ran} cases ran", flush=True)
                (folder / f"kills/{len(left)}").touch()
                amid += ran > 0
        code = client.wait(MOST_S)
    assert not left, "it was done before"
    runs = runs_of(folder)
    lost = [run for run in runs if is_cut_off(run)]
    wait_for(lambda: not (going(folder) or drivers() or left_over(ray)), within_s=PATIENCE_S)
    print(f"{len(kills)} kills, {amid} of them while cases ran; {len(runs)} runs, {len(lost)} lost or never started")
    counted = assert_each_once(runs, CASES)
    assert all(run.exit.lost or run.exit.never_started for run in lost), "each is named"
    numbers = [number for _, number in came(folder)]
    assert len(numbers) == len(set(numbers)), "no run was made twice"
    assert set(numbers) >= {run.run for run in counted}
    assert logbook("sweep", "--id", "MOE-000", cwd=folder).returncode == 0
    assert runs_of(folder) == runs, "nothing is left to be made"
