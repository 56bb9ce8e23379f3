"""A node, a driver or the head is killed while runs go on at the real Ray: every run has one end, what
was lost is named, and nothing runs on."""

from __future__ import annotations

import subprocess
from pathlib import Path

import psutil
import pytest
import requests

from tests.conftest import Cli
from tests.contract.campaign.recipes.sweep_support import runs_of, write_recipe
from tests.contract.e2e.e2e_support import LOGBOOK
from tests.contract.engines.ray_engine import Ray
from tests.contract.engines.ray_place import LEASE_S, place_on
from tests.contract.engines.ray_relay import relayed
from tests.contract.running.executors.conftest import (
    SLEEPS,
    Place,
    at_once,
    exit_of,
    is_gone,
    samples,
    sh,
    wait_for,
)
from tests.contract.running.executors.test_executors_many import RECIPE
from tests.seams import Facts

HOLDS = "sleep 600 & echo $! >> held; echo RESULT tflops=1; wait"


@pytest.fixture
def place(ray: Ray, started: Cli, folder: Path) -> Place:
    return place_on(ray, started, folder)


def lost(place: Place, run: Facts) -> Facts:
    """The record when it has an end, after the lease at the latest."""
    done = place.ended(run, 60 + LEASE_S)
    assert exit_of(done) == {"lost": True}
    return done


def drivers() -> list[psutil.Process]:
    """Those of Jobs, without the shells that started them."""
    found = [(process, process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])]
    return [process for process, words in found if words[1:] == ["ray_driver.py"]]


def stop_jobs(ray: Ray) -> set[str]:
    """The Jobs that asked a driver to end runs."""
    ids = {job["submission_id"] for job in requests.get(f"{ray.address}/api/jobs/", timeout=10).json()}
    return {job for job in ids if "-stop-" in job}


def test_a_batch_on_two_nodes(place: Place, ray: Ray, started: Cli, folder: Path) -> None:
    """At most so many at once; those of a round on one node."""
    place_on(ray, started, folder, cpus=1)
    bench = """
    echo "start $LOGBOOK_RUN $RAY_RAYLET_PID" >> order; sleep 0.3; echo "RESULT x=$1 tflops=1"; echo end >> order
    """
    write_recipe(folder, RECIPE.replace("[1, 2, 3, 4]", "[1, 2]"), bench=bench, name="spread")
    assert started("sweep", "spread", "--on", "ray", "--parallel", "2").code == 0
    assert at_once(folder) <= 2
    rounds = {str(run.run): run.repeat for run in runs_of(folder)}
    lines = [line.split() for line in (folder / "order").read_text().splitlines() if line.startswith("start")]
    assert len(lines) == 4
    for number in (1, 2):
        assert len({node for _, run, node in lines if rounds[run] == number}) == 1, "on one node"


def test_a_batch_whose_client_was_killed_is_cancelled(place: Place, ray: Ray, folder: Path) -> None:
    """Those that run are ended, the others never start; one small Job passes that on."""
    write_recipe(folder, RECIPE.replace("[1, 2, 3, 4]", "[1, 2]"), bench=f"echo $1 >> came; {SLEEPS}\n", name="spread")
    words = [*LOGBOOK, "sweep", "spread", "--on", "ray", "--parallel", "2"]
    client = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    came, before = folder / "came", stop_jobs(ray)
    wait_for(lambda: came.exists() and len(came.read_text().split()) == 2)
    client.kill()
    client.wait()
    assert place.cli("cancel", "MOE-000").code == 0
    ends = [tuple(exit_of(run)) for run in runs_of(folder)]
    assert sorted(ends) == [("never_started",)] * 2 + [("signal", "interrupted")] * 2
    assert len(came.read_text().split()) == 2
    assert len(stop_jobs(ray) - before) == 1
    assert wait_for(lambda: not drivers())


def test_a_killed_node(place: Place, ray: Ray, started: Cli, folder: Path) -> None:
    place_on(ray, started, folder, resources={"right": 1})
    run = place.send(*sh(HOLDS))
    grandchild = place.number("held")
    place.until(run, "running")
    ray.kill("node")
    assert lost(place, run).problems
    assert wait_for(lambda: is_gone(grandchild))
    ray.mend()
    assert exit_of(place.ended(place.send(*sh("echo RESULT tflops=2")))) == {}


def test_a_killed_driver(place: Place) -> None:
    run = place.send(*sh(HOLDS))
    grandchild = place.number("held")
    place.printed(run)
    [driver] = wait_for(lambda: found if len(found := drivers()) == 1 else None)
    driver.kill()
    assert wait_for(lambda: is_gone(grandchild)), "its worker ends with it"
    done = lost(place, run)
    assert "FAILED" in done.problems[0].text
    assert samples(done) == [[1.0]], "what its log holds"


def test_the_head_started_anew(place: Place, ray: Ray) -> None:
    run = place.send(*sh(HOLDS))
    grandchild = place.number("held")
    place.until(run, "running")
    ray.kill("head")
    assert wait_for(lambda: place.cli("status").err), "nobody answers, so nothing new is known"
    assert place.state(run) == "running"
    ray.mend()
    assert lost(place, run).problems
    assert wait_for(lambda: is_gone(grandchild))


def test_the_code_is_brought_again_to_a_head_that_is_started_again(
    place: Place, ray: Ray, started: Cli, folder: Path, git: object
) -> None:
    place_on(ray, started, folder, sync=True)
    assert exit_of(place.ended(place.send(*sh("echo RESULT tflops=1")))) == {}
    ray.kill("head")
    ray.mend()
    (folder / "new").write_text("x")
    done = place.ended(place.send("cat", "new"))
    assert (exit_of(done), place.log(done)) == ({}, b"x"), done.problems


def test_a_batch_whose_answer_was_lost_is_one_job(place: Place, ray: Ray, started: Cli, folder: Path) -> None:
    bench = 'echo $LOGBOOK_RUN >> came; echo "RESULT x=$1 tflops=2"\n'
    write_recipe(folder, RECIPE.replace("[1, 2, 3, 4]", "[1, 2]"), bench=bench, name="spread")
    with relayed(ray.address) as relay:
        place_on(ray, started, folder, address=relay.address, equivalent=True)
        relay.loses = "answer"
        answer = started("sweep", "spread", "--on", "ray", "--parallel", "2")
    assert answer.code == 0, answer.err
    runs = runs_of(folder)
    assert [exit_of(run) for run in runs] == [{}] * 4
    assert sorted((folder / "came").read_text().split()) == [str(run.run) for run in runs]
    assert wait_for(lambda: not drivers())
