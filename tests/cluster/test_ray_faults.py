"""A node, a coordinator, the head or the client is killed while runs go on at the real Ray: every run has one end, what
was lost is named, and nothing runs on."""

from __future__ import annotations

import collections
import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from logbook_agent.model.record import run_state
from logbook_agent.model.run import Exit, Run
from logbook_agent.running.executors.client import send_all
from tests.breadth import STRESS
from tests.cluster.ray_engine import REPOSITORY, Ray
from tests.cluster.ray_place import LEASE_S, place_on
from tests.conftest import Cli
from tests.executors.conftest import Place, is_gone, sh, wait_for

HOLDS = "sleep 600 & echo $! >> held; echo RESULT tflops=1; wait"
KILLS = 50 if STRESS else 3
CASES = 40 if STRESS else 12


@pytest.fixture
def place(ray: Ray, started: Cli, folder: Path) -> Place:
    return place_on(ray, folder)


def send(place: Place, *scripts: str, at_most: int = 4, pin: str | None = None) -> list[Run]:
    workspace = place.workspace
    plans = [(place.plan(workspace, *sh(script)), pin) for script in scripts]
    return send_all(workspace, workspace.book(), plans, place.name, at_most)


def held(place: Place, number: int = 1) -> list[int]:
    """The processes that the commands hold, when there are so many."""
    file = place.folder / "held"
    return wait_for(
        lambda: file.exists() and len(pids := file.read_text().split()) >= number and [int(p) for p in pids]
    )


def over(place: Place, run: Run) -> Run:
    """The record when it has an end, also one after the lease."""
    wait_for(lambda: place.collected(run).exit, within_s=60 + LEASE_S)
    return place.read(run)


def lost(place: Place, run: Run) -> Run:
    done = over(place, run)
    assert run_state(done, place.book.life) == "lost"
    return done


def coordinators() -> list[psutil.Process]:
    """Their processes, without the shells that started them."""
    found = [(process, process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])]
    return [process for process, words in found if words[1:3] == ["-P", "-c"] and "ray_coordinator.py" in words[3]]


def test_a_batch_on_two_nodes(place: Place, ray: Ray, folder: Path) -> None:
    """At most so many at once; those of a pin in turn and on one node."""
    place_on(ray, folder, cpus=1)
    script = (
        'echo "begin $0 $LOGBOOK_RUN $RAY_RAYLET_PID" >> log; sleep 0.3; echo "end $0" >> log; echo RESULT tflops=1'
    )
    workspace = place.workspace
    plans = [(place.plan(workspace, "sh", "-c", script, pin), pin) for pin in ("a", "b") * 3]
    runs = send_all(workspace, workspace.book(), plans, "ray", 2)
    ends = [place.ended(run) for run in runs]
    assert all(run.exit == Exit(code=0) and len(run.rows) == 1 for run in ends)
    lines = [line.split() for line in (folder / "log").read_text().splitlines()]
    going: collections.Counter[str] = collections.Counter()
    for what, pin, *_ in lines:
        going[pin] += 1 if what == "begin" else -1
        assert going[pin] <= 1
    for pin in ("a", "b"):
        begun = [line for line in lines if line[:2] == ["begin", pin]]
        assert [int(line[2]) for line in begun] == sorted(int(line[2]) for line in begun), "in their order"
        assert len({line[3] for line in begun}) == 1, "on one node"


def test_a_killed_node(place: Place, ray: Ray, folder: Path) -> None:
    place_on(ray, folder, resources={"right": 1})
    [run] = send(place, HOLDS)
    [grandchild] = held(place)
    place.until(run, "running")
    ray.kill("node")
    done = lost(place, run)
    assert done.problems[0].startswith("lost: its worker vanished (")
    assert wait_for(lambda: is_gone(grandchild))
    ray.mend()
    [again] = send(place, "echo RESULT tflops=2")
    assert place.ended(again).exit == Exit(code=0)


def test_a_killed_coordinator(place: Place) -> None:
    """One run had ended, one goes on, one waits."""
    runs = send(place, "echo RESULT tflops=2", HOLDS, "touch came", at_most=1)
    [grandchild] = held(place)
    [coordinator] = wait_for(lambda: found if len(found := coordinators()) == 1 else None)
    coordinator.kill()
    assert wait_for(lambda: is_gone(grandchild)), "its worker ends with it"
    assert over(place, runs[0]).exit == Exit(code=0)
    second = lost(place, runs[1])
    assert second.problems[0].startswith("lost: its worker vanished (its coordinator ended as FAILED)")
    assert [row.metrics["tflops"].samples for row in second.rows] == [(1.0,)], "what its log holds"
    lost(place, runs[2])
    assert not (place.folder / "came").exists()


def test_the_head_started_anew(place: Place, ray: Ray) -> None:
    [run] = send(place, HOLDS)
    [grandchild] = held(place)
    place.until(run, "running")
    ray.kill("head")
    assert wait_for(lambda: place.follow(run).trouble), "nobody answers, so nothing new is known"
    assert place.follow(run).stage == "running"
    ray.mend()
    assert place.follow(run).stage == "elsewhere"
    done = lost(place, run)
    assert "the head was restarted" in done.problems[0]
    assert wait_for(lambda: is_gone(grandchild))


# -- the client is killed ---------------------------------------------------------------------------------

# Makes what has not been made, and takes in what there is, as `sweep` would: until all cases have a row.
CLIENT = """
import sys, time
from pathlib import Path
from tests.cluster.test_ray_faults import missing
from logbook_agent.running.executors.client import send_all
from logbook_agent.running.executors.intake import collect
from tests.executors.conftest import Place
place = Place("ray", Path.cwd())
while True:
    workspace = place.workspace
    book = workspace.book()
    collect(workspace, book)
    todo, is_done = missing(place, int(sys.argv[1]))
    if is_done:
        break
    plans = [(place.plan(workspace, "sh", "case.sh", str(case)), None) for case in todo]
    send_all(workspace, book, plans, "ray", 4) if plans else time.sleep(0.2)
"""
CASE = 'echo "$1 $LOGBOOK_RUN" >> came; sleep 0.1; echo RESULT case=$1 tflops=1\n'


def missing(place: Place, cases: int) -> tuple[list[int], bool]:
    """The cases that no run makes or has made, and whether all have a row."""
    runs = place.book.runs("MOE-000")
    going = {int(run.argv[2]) for run in runs if run.exit is None}
    done = {int(run.argv[2]) for run in runs if run.exit == Exit(code=0)}
    return [case for case in range(cases) if case not in going | done], len(done) == cases


def test_a_client_under_kills(place: Place) -> None:
    (place.folder / "case.sh").write_text(CASE)
    chance, kills = random.Random(KILLS), 0
    environ = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    while True:
        client = subprocess.Popen([sys.executable, "-c", CLIENT, str(CASES)], cwd=place.folder, env=environ)
        if kills == KILLS:
            assert client.wait(240) == 0
            break
        kills += 1
        with contextlib.suppress(subprocess.TimeoutExpired):
            client.wait(chance.uniform(0.3, 6.0))
        client.send_signal(signal.SIGKILL)
        client.wait()
    runs = place.book.runs("MOE-000")
    counted = [run for run in runs if run.exit == Exit(code=0)]
    assert sorted(int(run.argv[2]) for run in counted) == list(range(CASES)), "one row for each case, and none twice"
    assert all(len(run.rows) == 1 for run in counted)
    others = [run for run in runs if run.exit != Exit(code=0)]
    assert all(run.exit is not None and (run.exit.lost or run.exit.never_started) for run in others), "each is named"
    came = [line.split() for line in (place.folder / "came").read_text().splitlines()]
    assert len(came) == len({number for _, number in came}), "no run was made twice"
    assert len(came) == CASES
    time.sleep(1)
    assert place.book.spools() == []
    assert coordinators() == []
