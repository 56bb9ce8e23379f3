"""What every executor keeps, by jobs of a batch system; and what is only true of jobs. The batch system is a stand-in
here, whose scheduler (`batch_double.py`) is the example of one; `tests/contract/engines` has a real Slurm."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.campaign.recipes.sweep_support import RECIPE, runs_of, write_recipe
from tests.contract.cluster.batch_place import BatchPlace, batch_place
from tests.contract.e2e.e2e_support import LOGBOOK
from tests.contract.running.executors.conftest import (
    Place,
    assert_each_once,
    exit_of,
    is_cut_off,
    samples,
    settings,
    sh,
    wait_for,
)
from tests.contract.running.executors.test_executors_contract import *  # noqa: F403
from tests.contract.running.executors.test_executors_contract import SECRET, files_with
from tests.seams import Facts, set_size

# No value is handed to a job.
del globals()["test_a_secret_is_in_no_file"]

WAITS = "echo x >> started; echo RESULT tflops=1; until [ -e go ]; do sleep 0.02; done; echo RESULT tflops=2"
# Longer than an engine takes to miss a node, and the client to miss a worker.
PATIENCE_S = 90.0


@pytest.fixture
def batch(started: Cli, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BatchPlace:
    set_size(monkeypatch, "silence of a worker, s", 2.0)
    return batch_place(started, folder, tmp_path / "batch", monkeypatch)


@pytest.fixture
def place(batch: BatchPlace) -> Place:
    return batch


def job_of(batch: BatchPlace) -> str:
    """The job of the one run."""
    job: str = wait_for(batch.jobs)[0]
    return job


def over(batch: BatchPlace, run: Facts) -> Facts:
    return batch.ended(run, PATIENCE_S)


# -- what becomes of a job -------------------------------------------------------------------------


def test_a_job_that_waits_says_why(batch: BatchPlace) -> None:
    batch.hold()
    run = batch.send(*sh(WAITS))
    said = wait_for(lambda: batch.said(run))
    assert f"job {job_of(batch)} is {batch.waits}" in said
    assert batch.state(run) == "submitted"
    assert batch.cli("cancel", run.entry).code == 0
    done = over(batch, run)
    assert batch.state(run) == "never-started"
    assert "CANCELLED" in done.problems[0].text
    assert not (batch.folder / "started").exists()


def test_cancelled_from_outside(batch: BatchPlace) -> None:
    run = batch.send(*sh(WAITS))
    batch.printed(run)
    batch.cancel(job_of(batch))
    done = over(batch, run)
    assert done.exit.interrupted
    assert samples(done) == [[1.0]]


@pytest.mark.parametrize("ending", ["as it is asked to", "only by force"])
def test_a_preempted_attempt_is_lost(batch: BatchPlace, ending: str) -> None:
    run = batch.send(*sh(("trap '' INT TERM; " if ending == "only by force" else "") + WAITS))
    batch.printed(run)
    job = job_of(batch)
    batch.preempt(job)
    done = over(batch, run)
    assert done.exit.lost
    assert samples(done) == [[1.0]]
    told = done.problems[0].text
    assert re.search(f"JOB {batch.called(job)} ON [a-z0-9]+ CANCELLED AT .* DUE TO PREEMPTION", told), told


def test_a_node_that_fails_loses_its_attempt(batch: BatchPlace) -> None:
    """With everything that runs on it."""
    run = batch.send(*sh(WAITS))
    batch.printed(run)
    batch.fail(job_of(batch))
    done = over(batch, run)
    assert done.exit.lost
    assert samples(done) == [[1.0]]


def test_a_forgotten_job(batch: BatchPlace) -> None:
    """The client comes back when nothing is known of it any more."""
    run = batch.send(*sh("echo RESULT tflops=1; exit 3"))
    batch.forget(job_of(batch))
    done = over(batch, run)
    assert exit_of(done) == {"code": 3}
    assert samples(done) == [[1.0]]


# -- submitting --------------------------------------------------------------------------------------


def wrapped(batch: BatchPlace, folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Have another program that submits, which calls the real one as "$REAL"."""
    folder.mkdir()
    (folder / batch.submits).write_text(f"#!/bin/sh\nREAL={batch.bin}/{batch.submits}\n{script}\n")
    (folder / batch.submits).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


@pytest.mark.parametrize("how", ['"$REAL" "$@"; exit 1', '"$REAL" "$@" > /dev/null; kill -9 $$'])
def test_a_submission_whose_answer_was_lost(
    batch: BatchPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    wrapped(batch, tmp_path / "wrapped", monkeypatch, how)
    # A job is forgotten soon after its end, so it is counted before.
    run = batch.send(*sh(WAITS))
    assert run.exit is None
    assert len(batch.jobs()) == 1
    (batch.folder / "go").touch()
    assert exit_of(over(batch, run)) == {}
    assert (batch.folder / "started").read_text() == "x\n"


def test_a_submission_that_never_arrived(batch: BatchPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrapped(batch, tmp_path / "wrapped", monkeypatch, f"echo '{batch.submits}: error: it is night' >&2; exit 1")
    run = batch.send("true")
    assert "it is night" in run.problems[0].text
    assert batch.state(run) == "never-started"


def test_a_job_that_arrives_after_it_was_given_up(
    batch: BatchPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was submitted is kept, and comes when its run was told to have never started."""
    wrapped(batch, tmp_path / "wrapped", monkeypatch, f'cat > {tmp_path}/script; echo "$@" > {tmp_path}/words; exit 1')
    run = batch.send(*sh(WAITS))
    assert batch.state(run) == "never-started"
    words = (tmp_path / "words").read_text().split()
    with (tmp_path / "script").open() as script:
        subprocess.run([batch.bin / batch.submits, *words], stdin=script, stdout=subprocess.DEVNULL, check=True)
    # It is soon forgotten when it is over.
    wait_for(lambda: not any(map(batch.is_going, batch.jobs())))
    assert not (batch.folder / "started").exists()


def test_a_secret_in_a_word_is_refused(batch: BatchPlace) -> None:
    run = batch.send("echo", f"--token={SECRET}")
    assert batch.state(run) == "never-started"
    assert "secret" in run.problems[0].text
    assert batch.jobs() == []
    assert files_with(batch.folder, SECRET.encode()) == []


# -- a sweep ---------------------------------------------------------------------------------------


TEXT = RECIPE.replace("size: [1, 2, 3, 4]", "size: [1, 2]")
CASES = 4


def test_a_sweep_is_one_array_and_what_is_lost_of_it_is_made_again(batch: BatchPlace) -> None:
    """Its client is killed, one job loses its node and another one is cancelled, while all of them run."""
    settings().write_text(f"{settings().read_text()}equivalent = true\n")
    waits = 'echo "$LOGBOOK_RUN" >> came; until [ -e go ]; do sleep 0.02; done'
    bench = f'{waits}; echo "RESULT size=$1 mode=$2 tflops=1"\n'
    write_recipe(batch.folder, TEXT, bench=bench)
    words = ("--on", batch.name, "--parallel", str(CASES))
    client = subprocess.Popen([*LOGBOOK, "sweep", "demo", *words], cwd=batch.folder, stderr=subprocess.DEVNULL)
    came = batch.folder / "came"
    wait_for(lambda: came.exists() and len(came.read_text().split()) == CASES)
    client.kill()
    client.wait()
    jobs = batch.jobs()
    assert len(jobs) == CASES
    assert len({job.partition("_")[0] for job in jobs}) == 1
    taken = batch.preempt(jobs[0])
    cancelled = [job for job in jobs if job not in taken][:1]
    for job in cancelled:
        batch.cancel(job)
    wait_for(lambda: not any(map(batch.is_going, (*taken, *cancelled))))
    (batch.folder / "go").touch()
    answer = batch.cli("sweep", "--id", "MOE-000", *words)
    assert answer.code == 0, answer.err
    runs = runs_of(batch.folder)
    assert_each_once(runs, CASES)
    cut_off = [run for run in runs if is_cut_off(run)]
    assert sum(bool(run.exit.lost) for run in cut_off) == len(taken)
    assert sum(bool(run.exit.interrupted) for run in cut_off) == len(cancelled)
    made = came.read_text().split()
    assert len(made) == len(set(made)) == len(runs), "no run was made twice"
    assert batch.cli("doctor").code == 0


def test_a_queue_that_is_full_for_a_while(batch: BatchPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sweep waits, says why, and makes each run once."""
    refuse = tmp_path / "refuse"
    refuse.touch()
    script = f'if [ -e {refuse} ]; then echo "{batch.full}" >&2; exit 1; fi; exec "$REAL" "$@"'
    wrapped(batch, tmp_path / "wrapped", monkeypatch, script)
    write_recipe(batch.folder, TEXT, bench='echo x >> came; echo "RESULT size=$1 mode=$2 tflops=1"\n')
    words = [*LOGBOOK, "sweep", "demo", "--on", batch.name]
    with subprocess.Popen(words, cwd=batch.folder, stderr=subprocess.PIPE) as client:
        assert client.stderr is not None
        assert batch.full.encode() in next(line for line in client.stderr if b"cannot start yet" in line)
        refuse.unlink()
        client.communicate()
    assert client.returncode == 0
    runs = runs_of(batch.folder)
    assert [exit_of(run) for run in runs] == [{}] * CASES
    assert (batch.folder / "came").read_text() == "x\n" * CASES
