"""A logbook whose runs are jobs of Slurm, as the tests of all executors want it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.conftest import Cli
from tests.contract.engines.slurm_engine import HOST, Slurm
from tests.contract.running.executors.conftest import Place
from tests.contract.running.executors.conftest import settings as settings_file

NAME = "cluster"


@dataclass
class SlurmPlace(Place):
    """`far` is on the disk that its nodes have, too. Numbers of processes are those of another machine."""

    @property
    def shared(self) -> Path:
        assert self.far is not None
        return self.far

    def is_gone(self, pid: int) -> bool:
        return pid not in {number for _, number in processes_inside()}

    def jobs(self, slurm: Slurm) -> list[str]:
        """The jobs of this logbook's runs that Slurm knows, the newest first; elements of an array as `8_0`."""
        told = slurm.ask("squeue", "--array", "--noheader", "--states=all", "--format=%i %Z").splitlines()
        found = [line.split(maxsplit=1) for line in told]
        return [job for job, folder in found if folder.startswith(f"{self.shared}/")]

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


def slurm_place(cli: Cli, folder: Path, shared: Path, *options: str) -> SlurmPlace:
    """One in a folder that has a logbook."""
    settings_file().write_text(settings(shared, *options))
    return SlurmPlace(NAME, folder, cli, host=HOST, far=shared)
