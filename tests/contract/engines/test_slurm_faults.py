"""What happens to jobs, and is told of them: cancelled, preempted, forgotten; nodes fail, and heads restart."""

from __future__ import annotations

import time
from pathlib import Path

from tests.conftest import Cli
from tests.contract.engines.slurm_engine import Slurm
from tests.contract.engines.slurm_place import SlurmPlace, slurm_place
from tests.contract.running.executors.conftest import exit_of, is_cut_off, samples, sh, wait_for
from tests.seams import Facts

# Longer than Slurm takes to miss a node, and the client to miss a worker.
PATIENCE_S = 90.0
WAITS = "echo RESULT tflops=1; until [ -e go ]; do sleep 0.02; done; echo RESULT tflops=2"


def over(place: SlurmPlace, run: Facts) -> Facts:
    return place.ended(run, PATIENCE_S)


def job_of(place: SlurmPlace) -> str:
    """The job of the one run."""
    job: str = wait_for(lambda: place.jobs())[0]
    return job


def pinned(slurm: Slurm, cli: Cli, folder: Path, shared: Path, *options: str) -> SlurmPlace:
    return slurm_place(slurm, cli, folder, shared, "--nodelist=n1", *options)


def test_a_worker_outlives_its_slurmd(slurm: Slurm, started: Cli, folder: Path, tmp_path: Path) -> None:
    """Slurm gives the job up, and it ends all the same."""
    place = pinned(slurm, started, folder, tmp_path / "shared")
    run = place.send(*sh(WAITS))
    place.printed(run)
    job = job_of(place)
    slurm.order("kill", "n1")
    wait_for(lambda: slurm.state(job) in ("NODE_FAIL", ""), within_s=PATIENCE_S)
    assert place.state(run) == "running"
    (place.folder / "go").touch()
    done = over(place, run)
    assert (exit_of(done), samples(done)) == ({}, [[1, 2]])


def test_a_head_that_restarts(slurm: Slurm, queue: SlurmPlace) -> None:
    run = queue.send(*sh(WAITS))
    slurm.order("stop", "slurmctld")
    assert queue.state(run) in ("submitted", "running")
    slurm.order("start", "slurmctld")
    (queue.folder / "go").touch()
    done = over(queue, run)
    assert exit_of(done) == {}


def test_no_head_is_no_end(slurm: Slurm, started: Cli, folder: Path, tmp_path: Path) -> None:
    place = pinned(slurm, started, folder, tmp_path / "shared", "--begin=now+3600")
    run = place.send("true")
    slurm.order("kill", "slurmctld")
    assert "squeue" in place.cli("status").err
    assert place.state(run) == "submitted"


def test_a_job_that_is_requeued_all_the_same(slurm: Slurm, queue: SlurmPlace) -> None:
    """An administrator may: the first attempt is lost, and there is no second in its place."""
    run = queue.send(*sh("echo x >> started; " + WAITS))
    queue.printed(run)
    number = job_of(queue)
    slurm.ask("scontrol", "update", f"JobId={number}", "Requeue=1")
    slurm.ask("scontrol", "requeue", number)
    done = over(queue, run)
    assert done.exit.lost
    time.sleep(1)
    assert (queue.folder / "started").read_text() == "x\n"


def test_a_head_that_forgot_a_job(slurm: Slurm, queue: SlurmPlace) -> None:
    """It is killed before it has written down what it was given; the node ends what it does not know."""
    run = queue.send(*sh(WAITS))
    queue.printed(run)
    slurm.order("kill", "slurmctld")
    slurm.order("start", "slurmctld")
    for job in queue.jobs():
        slurm.ask("scancel", job)  # it was quick enough this time
    done = over(queue, run)
    assert is_cut_off(done)
    assert len(done.rows) == 1


def test_an_end_that_cannot_be_read(slurm: Slurm, queue: SlurmPlace) -> None:
    """Nothing is made up, and nothing lost by looking."""
    run = queue.send(*sh("echo RESULT tflops=1"))
    final = wait_for(lambda: next(queue.shared.glob("spools/*/final.json"), None))
    final.write_text(final.read_text()[:20])
    job = job_of(queue)
    wait_for(lambda: slurm.state(job) in ("COMPLETED", ""))
    assert queue.until(run, "lost", within_s=PATIENCE_S)
    assert "final.json" in queue.cli("status").err
    assert queue.read(run).exit is None
