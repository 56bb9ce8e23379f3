"""A sweep behind a real ssh under kills at random instants: of its client, the connection, the daemon that serves it,
several of these at once, or a worker with its command. `scripts/stress` has 50 of them."""

from __future__ import annotations

import collections
import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterable

import psutil
import pytest

from tests.breadth import STRESS
from tests.conftest import Cli
from tests.contract.campaign.recipes.sweep_support import RECIPE, runs_of, write_recipe
from tests.contract.e2e.e2e_support import LOGBOOK
from tests.contract.engines.ssh_place import SshPlace
from tests.contract.running.executors.conftest import assert_each_once, is_cut_off, is_gone, settings, wait_for

KILLS = 50 if STRESS else 6
CASES = 40 if STRESS else 8
TEXT = RECIPE.replace("size: [1, 2, 3, 4]", f"size: [{', '.join(map(str, range(1, CASES // 2 + 1)))}]")
# The last case waits until the kills are over, so that each kill has somebody to meet.
BENCH = f"""\
echo "$LOGBOOK_RUN" >> came
sleep 0.5
while [ "$1 $2" = "{CASES // 2} new" ] && [ ! -e calm ]; do sleep 0.1; done
echo "RESULT size=$1 mode=$2 tflops=$(($1 * 10))"
"""
PATIENCE_S = 1800.0 if STRESS else 300.0
KINDS = (
    ("client",),
    ("connection",),
    ("session",),
    ("connection", "session"),
    ("client", "connection", "session"),
    ("worker",),
)


def processes(box: SshPlace) -> list[psutil.Process]:
    """Workers of the far side and their commands, as far as they live."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            words = process.cmdline()
            is_ours = any(str(box.far) in word for word in words) or words[1:2] == ["bench.sh"]
            if is_ours and (str(box.far) in " ".join(words) or process.cwd() == str(box.folder)):
                found.append(process)
    return [process for process in found if not is_gone(process.pid)]


def workers(box: SshPlace) -> list[int]:
    """Workers and their commands, when there is a command."""
    commands = []
    for process in processes(box):
        with contextlib.suppress(psutil.Error):
            commands += [process.pid] if "bench.sh" in process.cmdline() else []
    return [*(worker.pid for worker in box.workers()), *commands] if commands else []


def strike(box: SshPlace, client: subprocess.Popen[bytes], what: Iterable[str]) -> bool:
    """Kill all of these that are there; whether any was."""
    victims: list[int] = []
    for one in what:
        if one == "client":
            victims += [client.pid] if client.poll() is None else []
        elif one == "worker":
            victims += workers(box)
        else:
            victims += [process.pid for process in (box.clients() if one == "connection" else box.sessions())]
    for pid in victims:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return bool(victims)


def words(box: SshPlace, at_once: tuple[str, ...]) -> tuple[str, ...]:
    """What begins the sweep, or goes on with it once it is there. To begin again would make all cases anew where the
    last run ended while no client lived: the next command takes it in, and finds nothing left to resume."""
    begun = bool(box.store.entry_ids())
    return ("sweep", *(("--id", "MOE-000") if begun else ("demo", "--on", box.name)), *at_once)


@pytest.mark.parametrize("at_once", [(), ("--parallel", "3")], ids=["one by one", "three at once"])
def test_a_sweep_under_kills(box: SshPlace, started: Cli, at_once: tuple[str, ...]) -> None:
    folder = box.folder
    write_recipe(folder, TEXT, bench=BENCH)
    if at_once:
        settings().write_text(f"{settings().read_text()}equivalent = true\n")
    chance = random.Random(KILLS)
    left = [KINDS[place % len(KINDS)] for place in range(KILLS)]
    chance.shuffle(left)
    deadline = time.monotonic() + PATIENCE_S
    client, struck = None, collections.Counter[str]()
    while left:
        assert time.monotonic() < deadline, left
        if client is None or client.poll() is not None:
            struck["restarted"] += client is not None
            client = subprocess.Popen(
                [*LOGBOOK, *words(box, at_once)], cwd=folder, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
            )
        time.sleep(chance.uniform(0.3, 2.5))
        if strike(box, client, left[-1]):
            struck.update(left.pop())
    assert client is not None
    client.kill()
    client.wait()
    (folder / "calm").touch()
    done = subprocess.run(
        [*LOGBOOK, *words(box, at_once)], cwd=folder, capture_output=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    runs = runs_of(folder)
    counted = assert_each_once(runs, CASES)
    cut_off = [run for run in runs if is_cut_off(run)]
    assert all(run.exit.lost or run.exit.never_started for run in cut_off), "each is named"
    came = (folder / "came").read_text().split()
    assert len(came) == len(set(came)), "no run was made twice"
    known = {str(run.run) for run in runs if not run.exit.never_started}
    assert {*came} <= known, "none that was made is said to have never started"
    assert wait_for(lambda: not processes(box)), "no process is left"
    left_there = [path for path in (box.engine / "far/spools").iterdir() if not (path / "closed").exists()]
    assert [(path.name, sorted(os.listdir(path))) for path in left_there] == []  # noqa: PTH208
    started("doctor", "--fix")  # temporary files of writes that were cut off, and folders of runs before their start
    assert started("doctor").code == 0
    lost = sum(bool(run.exit.lost) for run in runs)
    print(f"{len(runs)} runs: {len(counted)} counted, {lost} lost, {len(cut_off) - lost} never started; {dict(struck)}")
