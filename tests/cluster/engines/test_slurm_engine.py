"""The engine of these tests: faults on demand, and nothing of it stays."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import psutil
import pytest

from tests.cluster.engines.slurm_engine import HOST, Slurm, started_in
from tests.running.executors.conftest import wait_for


def words_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def below(folder: Path) -> list[psutil.Process]:
    """Processes that name this folder, or have a parent that does."""
    named = [p for p in psutil.process_iter() if any(str(folder) in word for word in words_of(p))]
    return [*named, *(child for p in named for child in p.children(recursive=True))]


def test_a_job_runs_elsewhere(slurm: Slurm, tmp_path: Path) -> None:
    slurm.login_sets("ANSWER", "42")
    try:
        job = slurm.submit(
            f"(hostname; echo $ANSWER; tail -n +3 /proc/net/dev | cut -d: -f1) > {tmp_path}/said", "--export=NONE"
        )
        wait_for(lambda: slurm.state(job) == "COMPLETED")
    finally:
        slurm.login_sets("ANSWER", None)
    assert (tmp_path / "said").read_text().split() == [HOST, "42", "lo"]


def test_a_killed_slurmd_takes_its_job_along(slurm: Slurm) -> None:
    job = slurm.submit("sleep 600", "--nodelist=n2", "--no-requeue")
    wait_for(lambda: slurm.state(job) == "RUNNING")
    assert slurm.order("kill", "n2") is None
    assert slurm.order("pid", "n1") is not None
    wait_for(lambda: slurm.state(job) in ("NODE_FAIL", "FAILED", "CANCELLED"))
    slurm.order("start", "n2")
    slurm.until_idle()


def test_a_head_that_restarts_knows_its_jobs(slurm: Slurm) -> None:
    job = slurm.submit("sleep 600")
    wait_for(lambda: slurm.state(job) == "RUNNING")
    assert slurm.order("stop", "slurmctld") is None
    slurm.order("start", "slurmctld")
    time.sleep(1)
    assert slurm.state(job) == "RUNNING"


def test_the_high_partition_takes_from_the_low(slurm: Slurm) -> None:
    low = slurm.submit("sleep 600", "--nodelist=n1", "--exclusive", "--no-requeue")
    wait_for(lambda: slurm.state(low) == "RUNNING")
    high = slurm.submit("sleep 600", "--partition=high", "--nodelist=n1")
    wait_for(lambda: slurm.state(low) == "PREEMPTED")
    wait_for(lambda: slurm.state(high) == "RUNNING")


@pytest.mark.parametrize("how", ["its input ends", "kill -9"])
def test_nothing_of_it_stays(slurm_once: Slurm, tmp_path: Path, how: str) -> None:
    with started_in(tmp_path / "other") as other:
        job = other.submit("trap '' TERM; (setsid sleep 600 &); sleep 600")
        wait_for(lambda: other.state(job) == "RUNNING")
        wait_for(lambda: len(below(tmp_path / "other")) >= 8)
        running = below(tmp_path / "other")
        if how == "kill -9":
            os.kill(other.process.pid, signal.SIGKILL)
    assert wait_for(lambda: not any(process.is_running() for process in running))
    assert below(tmp_path / "other") == []
    assert slurm_once.order("pid", "n1") is not None, "the other one goes on"
