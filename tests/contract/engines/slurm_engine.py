"""A real Slurm with a head and two nodes (`scripts/cluster_slurm`), as another machine that shares our disk."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conftest import REPOSITORY

SCRIPT = REPOSITORY / "scripts/cluster_slurm"
HOST = "slurm-head"
_START_S = 90.0


def why_not() -> str | None:
    """Why this machine cannot have one; None when it can."""
    done = subprocess.run([sys.executable, SCRIPT, "check"], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stderr.splitlines()[0].removeprefix("error: ")


@dataclass
class Slurm:
    """`bin` holds its commands; each enters the namespace by itself."""

    process: subprocess.Popen[str]
    folder: Path
    bin: Path

    def order(self, verb: str, name: str) -> int | None:
        """`kill` (-9), `stop`, `start` or `pid` of slurmctld, n1 or n2; its number inside, None when it is gone."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{verb} {name}\n")
        self.process.stdin.flush()
        told: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert "error" not in told, told
        return told["pid"]

    def ask(self, name: str, *words: str) -> str:
        """What one of its commands prints."""
        done = subprocess.run([self.bin / name, *words], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def submit(self, script: str, *options: str) -> str:
        """The id of a job that has this script for a shell."""
        return self.ask("sbatch", "--parsable", "--output=/dev/null", *options, f"--wrap={script}")

    def state(self, job: str) -> str:
        """`PENDING`, `RUNNING`, ... of a job or an element of an array (`8_0`); empty when Slurm has forgotten it."""
        told = self.ask("squeue", "--array", "--noheader", "--states=all", "--format=%i %T")
        return dict(line.split() for line in told.splitlines()).get(job, "")

    def until_idle(self) -> None:
        """Both nodes work, and have no job."""
        deadline = time.monotonic() + _START_S
        while self.ask("sinfo", "--noheader", "--Node", "--partition=low", "--format=%T").split() != ["idle"] * 2:
            assert time.monotonic() < deadline, self.ask("sinfo")
            time.sleep(0.1)

    def recover(self) -> None:
        """As before the test: every daemon runs, and no job does."""
        for name in ("slurmctld", "n1", "n2"):
            self.order("start", name)
        deadline = time.monotonic() + _START_S
        while subprocess.run([self.bin / "scancel", "--me"], capture_output=True, check=False).returncode:
            assert time.monotonic() < deadline, "slurmctld does not answer"
            time.sleep(0.1)
        self.until_idle()

    def login_sets(self, name: str, value: str | None) -> None:
        """What a login on a node sets from now on; None: nothing more."""
        file = self.folder / "profile.d" / f"{name}.sh"
        if value is None:
            file.unlink(missing_ok=True)
        else:
            file.write_text(f"export {name}='{value}'\n")


@contextmanager
def started_in(folder: Path) -> Iterator[Slurm]:
    """One that runs until the block is left."""
    with (folder.parent / f"{folder.name}.err").open("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, SCRIPT, "run", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            errors.seek(0)
            assert line, errors.read()
            yield Slurm(process, folder, Path(json.loads(line)["bin"]))
        finally:
            process.communicate(timeout=_START_S)  # closes its input, at which it ends
