"""A logbook whose runs are jobs of Slurm, as the tests of all executors want it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.conftest import Cli
from tests.contract.cluster.batch_place import BatchPlace
from tests.contract.engines.slurm_engine import HOST, Slurm
from tests.contract.running.executors.conftest import settings as settings_file
from tests.contract.running.executors.conftest import wait_for

NAME = "cluster"


@dataclass
class SlurmPlace(BatchPlace):
    """`far` is on the disk that its nodes have, too. Numbers of processes are those of another machine."""

    engine: Slurm = field(kw_only=True)
    submits: str = "sbatch"
    full: str = "sbatch: error: Batch job submission failed: Resource temporarily unavailable"
    waits: str = "PENDING"

    @property
    def shared(self) -> Path:
        assert self.far is not None
        return self.far

    def is_gone(self, pid: int) -> bool:
        return pid not in {number for _, number in processes_inside()}

    def jobs(self) -> list[str]:
        """The newest first; elements of an array as `8_0`."""
        found = self._told("%Z", "--states=all")
        return [job for job, folder in found.items() if folder.startswith(f"{self.shared}/")]

    def is_going(self, job: str) -> bool:
        return self.engine.state(job) in ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING")

    def called(self, job: str) -> str:
        """The last element of an array goes by the number of the array."""
        return job.partition("_")[0]

    def hold(self) -> None:
        others = [self.engine.submit("sleep 600", "--exclusive", f"--nodelist={node}") for node in ("n1", "n2")]
        wait_for(lambda: all(self.engine.state(other) == "RUNNING" for other in others))

    def cancel(self, job: str) -> None:
        self.engine.ask("scancel", job)

    def preempt(self, job: str) -> list[str]:
        nodes = self._told("%N")
        self.engine.submit("sleep 1", "--partition=high", "--exclusive", f"--nodelist={nodes[job]}")
        return [one for one in self.jobs() if nodes.get(one) == nodes[job]]

    def fail(self, job: str) -> None:
        left, node = self.left(), self._told("%N")[job]
        batch_job = self._told("%A")[job]
        self.engine.order("kill", node)
        for process, _ in processes_inside():
            words = process.cmdline()
            if str(left) in words or words[0] in (f"slurmstepd: [{one}.batch]" for one in (job, batch_job)):
                process.kill()

    def forget(self, job: str) -> None:
        wait_for(lambda: self.engine.state(job) == "", within_s=90.0)

    def _told(self, what: str, *options: str) -> dict[str, str]:
        """One fact of each job and element that Slurm knows."""
        lines = self.engine.ask("squeue", "--array", "--noheader", *options, f"--format=%i {what}").splitlines()
        return {job: fact for job, _, fact in (line.partition(" ") for line in lines)}

    def spools(self) -> list[Path]:
        """What the far ends of runs have left; a closed one is nothing but a mark."""
        found = sorted((self.shared / "spools").glob("*")) if (self.shared / "spools").is_dir() else []
        return [folder for folder in found if [file.name for file in folder.iterdir()] != ["closed"]]


def processes_inside() -> Iterator[tuple[psutil.Process, int]]:
    """Processes of any namespace but ours, with their numbers there; without those that have ended."""
    for process in psutil.process_iter():
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
            is_over = process.status() == psutil.STATUS_ZOMBIE
        except (OSError, psutil.NoSuchProcess):
            continue
        numbers = next(line.split()[1:] for line in status.splitlines() if line.startswith("NSpid:"))
        if len(numbers) > 1 and not is_over:
            yield process, int(numbers[-1])


def settings(shared: Path, *options: str) -> str:
    """A table of settings for an executor of this name."""
    words = ", ".join(f'"{option}"' for option in options)
    return (
        f'[executors.{NAME}]\nkind = "slurm"\nfolder = "{shared}"\npython = "{sys.executable}"\nsync = false\n'
        f"options = [{words}]\n"
    )


def slurm_place(engine: Slurm, cli: Cli, folder: Path, shared: Path, *options: str) -> SlurmPlace:
    """One in a folder that has a logbook."""
    settings_file().write_text(settings(shared, *options))
    return SlurmPlace(NAME, folder, cli, host=HOST, far=shared, bin=engine.bin, engine=engine)
