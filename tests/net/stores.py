"""Make stores with the package that PYTHONPATH names: python -m tests.net.stores FOLDER COUNT SHARE OF. Each is a
folder `NNN` with a repository `work`; one that is there already stays."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from tests.conftest import FixedClock
from tests.net.caller import call, stop_the_clock
from tests.net.mixed import Mixed
from tests.oracle.campaign import Campaign


def make(folder: Path, number: int) -> None:
    """Even numbers are campaigns of comparisons, odd ones a mixture of everything else."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".") as made, pytest.MonkeyPatch.context() as patch:
        work = Path(made, "work")
        work.mkdir()
        patch.chdir(work)
        clock = FixedClock()
        stop_the_clock(clock)
        if number % 2:
            Mixed(call, work, clock, number).make(14)
        else:
            Campaign(call, work, clock, patch, number).make(5, 60)
        for path in work.glob("logbooks/**/*.log"):
            path.unlink()
        patch.chdir(folder)
        shutil.copytree(work, folder / f"{number:03d}.new" / "work", symlinks=True)
    (folder / f"{number:03d}.new").rename(folder / f"{number:03d}")


def main(folder: Path, count: int, share: int, shares: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(share, count, shares):
        if not (folder / f"{number:03d}").exists():
            make(folder, number)
            print(f"made {number:03d}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), *map(int, sys.argv[2:5]))
