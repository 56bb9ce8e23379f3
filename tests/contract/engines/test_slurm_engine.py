"""The engine of these tests: faults on demand, and nothing of it stays."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psutil
import pytest

from tests.contract.engines.slurm_engine import Slurm, started_in
from tests.contract.running.executors.conftest import wait_for


def words_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def below(folder: Path) -> list[psutil.Process]:
    """Processes that name this folder, or have a parent that does."""
    named = [p for p in psutil.process_iter() if any(str(folder) in word for word in words_of(p))]
    return [*named, *(child for p in named for child in p.children(recursive=True))]


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
