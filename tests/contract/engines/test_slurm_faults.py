"""What happens to jobs, and is told of them: cancelled, preempted, forgotten; nodes fail, and heads restart."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from logbook_agent.model.record import run_state
from logbook_agent.model.run import Run
from tests.conftest import Cli
from tests.contract.engines.slurm_engine import Slurm
from tests.contract.engines.slurm_place import SlurmPlace, processes_inside, slurm_place
from tests.contract.running.executors.conftest import collect, sh, wait_for

# Longer than Slurm takes to miss a node, and the client to miss a worker.
PATIENCE_S = 90.0
WAITS = "echo RESULT tflops=1; until [ -e go ]; do sleep 0.02; done; echo RESULT tflops=2"


def job_of(place: SlurmPlace, run: Run) -> str:
    sent = place.spool(run).sent()
    assert sent is not None
    assert sent.job is not None
    return sent.job


def printed(place: SlurmPlace, run: Run) -> None:
    wait_for(lambda: b"RESULT" in place.follow(run, 0).output)


def over(place: SlurmPlace, run: Run) -> Run:
    wait_for(lambda: place.follow(run).stage in ("ended", "lost", "never-started"), within_s=PATIENCE_S)
    return place.collected(run)


def pinned(folder: Path, shared: Path, *options: str) -> SlurmPlace:
    return slurm_place(folder, shared, "--nodelist=n1", *options)


def test_a_job_that_waits_says_why(slurm: Slurm, started: Cli, folder: Path, tmp_path: Path) -> None:
    place = pinned(folder, tmp_path / "shared", "--exclusive")
    first = place.send(*sh(WAITS))
    printed(place, first)
    second = place.send("true")
    said = wait_for(lambda: place.follow(second).said)
    assert said == f"job {job_of(place, second)} is PENDING (Resources)"
    assert place.follow(second).stage == "sent"
    assert run_state(place.read(second), place.book.life) == "submitted"
    place.executor.stop(place.spool(second))
    done = over(place, second)
    assert run_state(done, place.book.life) == "never-started"
    assert done.problems == (f"{said.replace('job', 'never started: job').split(' is ')[0]} is CANCELLED",)
    place.executor.stop(place.spool(first))
    done = over(place, first)
    assert done.exit is not None
    assert done.exit.interrupted
    assert len(done.rows) == 1


def test_cancelled_from_outside(slurm: Slurm, queue: SlurmPlace) -> None:
    run = queue.send(*sh(WAITS))
    printed(queue, run)
    slurm.ask("scancel", job_of(queue, run))
    done = over(queue, run)
    assert done.exit is not None
    assert done.exit.interrupted
    assert len(done.rows) == 1


@pytest.mark.parametrize("ending", ["as it is asked to", "only by force"])
def test_a_preempted_attempt_is_lost(slurm: Slurm, started: Cli, folder: Path, tmp_path: Path, ending: str) -> None:
    place = pinned(folder, tmp_path / "shared", "--exclusive")
    run = place.send(*sh(("trap '' INT TERM; " if ending == "only by force" else "") + WAITS))
    printed(place, run)
    number = job_of(place, run)
    other = slurm.submit("sleep 600", "--partition=high", "--nodelist=n1", "--exclusive")
    done = over(place, run)
    assert done.exit is not None
    assert done.exit.lost
    assert len(done.rows) == 1
    # Slurm calls the last element of an array by the number of the array.
    assert f"JOB {number.partition('_')[0]} ON n1 CANCELLED AT" in done.problems[0]
    assert "DUE TO PREEMPTION" in done.problems[0]
    wait_for(lambda: slurm.state(other) == "RUNNING")


def test_a_worker_outlives_its_slurmd(slurm: Slurm, started: Cli, folder: Path, tmp_path: Path) -> None:
    """Slurm gives the job up, and it ends all the same."""
    place = pinned(folder, tmp_path / "shared")
    run = place.send(*sh(WAITS))
    printed(place, run)
    slurm.order("kill", "n1")
    wait_for(lambda: slurm.state(job_of(place, run)) in ("NODE_FAIL", ""), within_s=PATIENCE_S)
    assert place.follow(run).stage == "running"
    (place.folder / "go").touch()
    done = over(place, run)
    assert done.exit is not None
    assert done.exit.code == 0
    assert done.rows[0].metrics["tflops"].samples == (1, 2)


def test_a_node_that_fails_loses_its_attempt(slurm: Slurm, started: Cli, folder: Path, tmp_path: Path) -> None:
    """With everything that runs on it."""
    place = pinned(folder, tmp_path / "shared")
    run = place.send(*sh(WAITS))
    printed(place, run)
    slurm.order("kill", "n1")
    for process, _ in processes_inside():
        words = process.cmdline()
        if str(place.left(run)) in words or words[0] == f"slurmstepd: [{job_of(place, run)}.batch]":
            process.kill()
    done = over(place, run)
    assert done.exit is not None
    assert done.exit.lost
    assert len(done.rows) == 1


def test_a_head_that_restarts(slurm: Slurm, queue: SlurmPlace) -> None:
    run = queue.send(*sh(WAITS))
    slurm.order("stop", "slurmctld")
    followed = queue.follow(run)
    assert followed.stage in ("sent", "running")
    slurm.order("start", "slurmctld")
    (queue.folder / "go").touch()
    done = over(queue, run)
    assert done.exit is not None
    assert done.exit.code == 0


def test_no_head_is_no_end(slurm: Slurm, started: Cli, folder: Path, tmp_path: Path) -> None:
    place = pinned(folder, tmp_path / "shared", "--begin=now+3600")
    run = place.send("true")
    slurm.order("kill", "slurmctld")
    followed = place.follow(run)
    assert followed.stage == "sent"
    assert followed.trouble is not None
    assert followed.trouble.startswith("squeue does not answer (")


def test_a_forgotten_job(slurm: Slurm, queue: SlurmPlace) -> None:
    """The client comes back when Slurm knows nothing of it any more."""
    run = queue.send(*sh("echo RESULT tflops=1; exit 3"))
    number = job_of(queue, run)
    wait_for(lambda: slurm.state(number) == "FAILED" or not slurm.state(number))
    wait_for(lambda: slurm.state(number) == "", within_s=PATIENCE_S)
    done = over(queue, run)
    assert done.exit is not None
    assert done.exit.code == 3
    assert len(done.rows) == 1


def test_a_job_that_is_requeued_all_the_same(slurm: Slurm, queue: SlurmPlace) -> None:
    """An administrator may: the first attempt is lost, and there is no second in its place."""
    run = queue.send(*sh("echo x >> started; " + WAITS))
    printed(queue, run)
    number = job_of(queue, run)
    slurm.ask("scontrol", "update", f"JobId={number}", "Requeue=1")
    slurm.ask("scontrol", "requeue", number)
    done = over(queue, run)
    assert done.exit is not None
    assert done.exit.lost
    time.sleep(1)
    assert (queue.folder / "started").read_text() == "x\n"


def test_a_head_that_forgot_a_job(slurm: Slurm, queue: SlurmPlace) -> None:
    """It is killed before it has written down what it was given; the node ends what it does not know."""
    run = queue.send(*sh(WAITS))
    printed(queue, run)
    slurm.order("kill", "slurmctld")
    slurm.order("start", "slurmctld")
    if slurm.state(job_of(queue, run)):
        slurm.ask("scancel", job_of(queue, run))  # it was quick enough this time
    done = over(queue, run)
    assert done.exit is not None
    assert done.exit.is_cut_off
    assert len(done.rows) == 1


def test_an_end_that_cannot_be_read(slurm: Slurm, queue: SlurmPlace) -> None:
    """Nothing is made up, and nothing lost by looking."""
    run = queue.send(*sh("echo RESULT tflops=1"))
    final = wait_for(lambda: next(queue.left(run).glob("final.json"), None))
    text = final.read_text()
    final.write_text(text[: len(text) // 2])
    job = job_of(queue, run)
    wait_for(lambda: slurm.state(job) in ("COMPLETED", ""))
    wait_for(lambda: queue.follow(run).stage == "lost", within_s=PATIENCE_S)
    workspace = queue.workspace
    assert collect(workspace, workspace.book()) == []
    assert "final.json" in workspace.warnings[0]
    assert queue.read(run).exit is None
