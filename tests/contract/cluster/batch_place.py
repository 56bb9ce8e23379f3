"""A logbook whose runs are jobs of a batch system: the stand-in for one, and what tests want of any."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY, Cli
from tests.contract.running.executors.conftest import Place, settings, wait_for


@dataclass
class BatchPlace(Place):
    """A batch system that shares a disk with this machine. Its program `submits` lies in the folder `bin`, and says
    `full` where it may accept a job later. A job that does not run yet `waits`."""

    bin: Path = Path()
    submits: str = "dsub"
    full: str = "dsub: no room for it now, come later"
    waits: str = "WAITING"

    def jobs(self) -> list[str]:
        """The jobs of this logbook that it knows, as it calls them."""
        return [line.split()[0] for line in self._ask("djobs").splitlines()]

    def is_going(self, job: str) -> bool:
        """Whether a job waits, or runs."""
        told = {number: state for number, _, state in map(str.split, self._ask("djobs").splitlines())}
        return told.get(job) in ("WAITING", "RUNNING")

    def called(self, job: str) -> str:
        """How a job is called in its output when it is ended."""
        return job

    def hold(self) -> None:
        """No further job begins."""
        (self.bin.parent / "hold").touch()

    def cancel(self, job: str) -> None:
        self._ask("dend", "CANCELLED", job)

    def preempt(self, job: str) -> list[str]:
        """Take its node away; all jobs that lose it."""
        self._ask("dend", "PREEMPTED", job)
        return [job]

    def fail(self, job: str) -> None:
        """Its node fails: all that runs there ends at once."""
        self._ask("dend", "NODE_FAIL", job)
        wait_for(lambda: not self.is_going(job))
        self._ask("dforget", job)

    def forget(self, job: str) -> None:
        """Wait until a job that is over is forgotten."""
        wait_for(lambda: not self.is_going(job))
        self._ask("dforget", job)

    def _ask(self, name: str, *words: str) -> str:
        return subprocess.run([self.bin / name, *words], capture_output=True, text=True, check=True).stdout


def batch_place(cli: Cli, folder: Path, queue: Path, monkeypatch: pytest.MonkeyPatch) -> BatchPlace:
    """A batch system of processes of this machine, by the stand-in for a scheduler."""
    (queue / "bin").mkdir(parents=True)
    for name, verb in (("dsub", "submit"), ("djobs", "jobs"), ("dend", "end"), ("dforget", "forget")):
        words = f"{sys.executable} -IS {REPOSITORY}/tests/contract/cluster/fakes/batch_system.py {queue} {verb}"
        (queue / "bin" / name).write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        (queue / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(queue / "bin"), prepend=os.pathsep)
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    kind = "tests.contract.cluster.fakes.batch_double:double"
    lines = (f'kind = "{kind}"', f'folder = "{queue}/far"', f'python = "{sys.executable}"', "sync = false")
    settings().write_text("\n".join(("[executors.double]", *lines, "")))
    return BatchPlace("double", folder, cli, far=queue / "far", bin=queue / "bin")
