"""A detached sweep under kills at random instants: of the series, a worker, or a worker with its command.
`scripts/stress` has 50 of them, `make test` a few."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from tests.breadth import STRESS
from tests.conftest import Cli
from tests.contract.campaign.recipes.sweep_support import RECIPE, runs_of, write_recipe
from tests.contract.e2e.e2e_support import LOGBOOK, logbook
from tests.contract.running.executors.conftest import (
    Place,
    assert_each_once,
    commands,
    exit_of,
    far_place,
    is_cut_off,
    is_gone,
    samples,
    series,
    sh,
    wait_for,
)

pytestmark = pytest.mark.slow

KILLS = 50 if STRESS else 3
# So many cases, half of them controls, each of a moment.
CASES = 40 if STRESS else 6
TEXT = RECIPE.replace("size: [1, 2, 3, 4]", f"size: [{', '.join(map(str, range(1, CASES // 2 + 1)))}]")
BENCH = f'sleep {0.4 if STRESS else 0.3}; echo "RESULT size=$1 mode=$2 tflops=$(($1 * 10))"\n'


def kill(chance: random.Random, folder: Path) -> bool:
    """Kill one party of the sweep, if it is there."""
    what = chance.choice(["series", "worker", "worker and command"])
    victims = series(folder) if what == "series" else []
    if what != "series":
        for command in commands(folder):
            with contextlib.suppress(psutil.Error):
                worker = command.parent()
                victims += [] if worker is None else [worker, *([command] if what != "worker" else [])]
    for victim in victims:
        with contextlib.suppress(psutil.Error):
            victim.kill()
    wait_for(lambda: all(is_gone(victim.pid) for victim in victims))
    return bool(victims)


def test_a_sweep_under_kills(started: Cli, folder: Path) -> None:
    write_recipe(folder, TEXT, bench=BENCH)
    chance, killed = random.Random(KILLS), 0
    words = ("sweep", "demo")
    deadline = time.monotonic() + 60 + 10 * KILLS
    # Until it is finished: on a quick machine before the last kill.
    while words[1] == "demo" or started("wait", "MOE-000").code != 0:
        assert time.monotonic() < deadline, (killed, started("list", "--json").data)
        if not series(folder):
            done = logbook(*words, "--detach", cwd=folder)
            assert done.returncode == 0, done.stderr.decode()
            words = ("sweep", "--id", "MOE-000")
        while killed < KILLS and series(folder):
            time.sleep(chance.uniform(0.05, 0.8))
            killed += kill(chance, folder)
    assert killed
    runs = runs_of(folder)
    assert_each_once(runs, CASES)
    assert len([run for run in runs if is_cut_off(run)]) <= killed
    assert wait_for(lambda: not commands(folder)), "no orphan is left"
    # Temporary files of writes that were cut off, folders of runs before their start, a folder that was being removed.
    started("doctor", "--fix")
    assert started("doctor").code == 0
    assert started("list", "--json").data[0]["state"] == "finished"


def test_a_command_that_takes_runs_in_is_killed(local: Place) -> None:
    """At any instant: what it had not done, the next command does, and once; and it takes out what looks secret."""
    chance, env, key = random.Random(1), dict(os.environ), b"A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    prints = f"K=p_{key.decode()}; echo gh$K | tee left.txt"
    for number in range(4):
        script = f"echo $PPID > worker{number}; {prints}; echo RESULT tflops={number + 2}"
        local.send(*sh(script), options=("--keep", "left.txt"))
        wait_for(lambda: is_gone(local.number(f"worker{number}")))  # noqa: B023
        client = subprocess.Popen([*LOGBOOK, "status"], cwd=local.folder, env=env, stdout=subprocess.DEVNULL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            client.wait(chance.uniform(0.2, 0.6))
        client.send_signal(signal.SIGKILL)
        client.wait()
    assert local.cli("status").code == 0
    runs = [local.store.runs(entry_id)[0] for entry_id in local.store.entry_ids()]
    assert [samples(run) for run in runs] == [[[2]], [[3]], [[4]], [[5]]]
    for run in runs:
        folder = local.store.run_folder(run.entry, run.run)
        kept = [(folder / name).read_bytes() for name in ("output.log", run.artifacts[0].kept)]
        assert all(data.startswith(b"[redacted:github-token]") for data in kept)
    written = [path.read_bytes() for path in local.store.folder.rglob("*") if path.is_file()]
    assert not any(b"ghp_" + key in data for data in written)
    view = local.store.view_path.read_text()
    assert [view.count(f"tflops: {value}.000") for value in (2, 3, 4, 5)] == [1] * 4
    local.cli("doctor", "--fix")
    assert local.cli("doctor").code == 0


def test_a_command_that_has_printed_is_not_started_again(
    started: Cli, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = far_place(started, folder, tmp_path / "far", monkeypatch)
    for output, times in (("echo RESULT tflops=2; ", 1), ("", 3)):
        script = f"echo >> made{times}; {output}sleep 0.2; kill -9 $PPID; kill -9 $$"
        assert started("run", "--on", "far", "--", *sh(script)).code == 125
        runs = place.store.runs(place.store.entry_ids()[-1])
        assert [exit_of(run) for run in runs] == [{"lost": True}] * times
        assert (folder / f"made{times}").read_text() == "\n" * times
