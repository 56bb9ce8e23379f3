"""A node, a coordinator or the head is killed while runs go on at the real Ray: every run has one end, what
was lost is named, and nothing runs on."""

from __future__ import annotations

import collections
import dataclasses
from pathlib import Path

import psutil
import pytest

from logbook_agent.cluster.ray_api import Jobs
from logbook_agent.model.record import run_state
from logbook_agent.model.run import Exit, Run
from logbook_agent.running.executors.contract import NoAnswer
from logbook_agent.running.executors.submission import Attempts, send
from logbook_agent.running.order import RunPlan
from logbook_agent.store.workspace import Workspace
from tests.conftest import Cli
from tests.contract.engines.ray_engine import Ray
from tests.contract.engines.ray_place import LEASE_S, place_on
from tests.contract.running.executors.conftest import Place, is_gone, sh, wait_for

HOLDS = "sleep 600 & echo $! >> held; echo RESULT tflops=1; wait"


@pytest.fixture
def place(ray: Ray, started: Cli, folder: Path) -> Place:
    return place_on(ray, folder)


def send_batch(place: Place, *scripts: str, at_most: int = 4, pin: str | None = None) -> list[Run]:
    workspace = place.workspace
    plans = [dataclasses.replace(place.plan(workspace, *sh(script)), pin=pin) for script in scripts]
    return sent(place, workspace, plans, at_most)


def sent(place: Place, workspace: Workspace, plans: list[RunPlan], at_most: int) -> list[Run]:
    """The runs of a batch that was submitted once."""
    attempts = Attempts(workspace, workspace.book(), plans, place.name, at_most=at_most)
    assert attempts.attempt()
    return attempts.runs


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
    plans = [dataclasses.replace(place.plan(workspace, "sh", "-c", script, pin), pin=pin) for pin in ("a", "b") * 3]
    runs = sent(place, workspace, plans, 2)
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
    [run] = send_batch(place, HOLDS)
    [grandchild] = held(place)
    place.until(run, "running")
    ray.kill("node")
    done = lost(place, run)
    assert done.problems[0].startswith("lost: its worker vanished (")
    assert wait_for(lambda: is_gone(grandchild))
    ray.mend()
    [again] = send_batch(place, "echo RESULT tflops=2")
    assert place.ended(again).exit == Exit(code=0)


def test_a_killed_coordinator(place: Place) -> None:
    """One run had ended, one goes on, one waits."""
    runs = send_batch(place, "echo RESULT tflops=2", HOLDS, "touch came", at_most=1)
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
    [run] = send_batch(place, HOLDS)
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


def test_a_client_outlives_a_head_that_is_started_again(place: Place, ray: Ray, folder: Path, git: object) -> None:
    """It brings the code again, and nothing of the tree that it brought before."""
    place_on(ray, folder, sync=True)
    workspace = place.workspace
    first = send(workspace, workspace.book(), place.plan(workspace, *sh("echo RESULT tflops=1")), "ray")
    assert place.ended(first).exit == Exit(code=0)
    ray.kill("head")
    ray.mend()
    (folder / "new").write_text("x")
    for _ in range(2):
        second = send(workspace, workspace.book(), place.plan(workspace, "cat", "new"), "ray")
        # The connection that was open is found broken once.
        if second.exit is None:
            break
    done = place.ended(second)
    assert (done.exit, place.log(done)) == (Exit(code=0), b"x"), done.problems


def test_a_batch_whose_answer_was_lost_is_one_job(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    submit = Jobs.submit

    def unanswered(self: Jobs, job: str, entrypoint: str) -> bool:
        submit(self, job, entrypoint)
        raise NoAnswer("Ray does not answer", cause="its answer was lost")

    monkeypatch.setattr(Jobs, "submit", unanswered)
    runs = send_batch(place, "echo $LOGBOOK_RUN >> came; echo RESULT tflops=2", "echo $LOGBOOK_RUN >> came")
    monkeypatch.setattr(Jobs, "submit", submit)
    assert len({Path(sent.folder).stem for run in runs if (sent := place.spool(run).sent()) is not None}) == 1
    assert [over(place, run).exit for run in runs] == [Exit(code=0)] * 2
    assert sorted((place.folder / "came").read_text().split()) == ["1", "2"]
    assert wait_for(lambda: not coordinators())
