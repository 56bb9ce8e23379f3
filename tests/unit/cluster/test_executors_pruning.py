"""What is removed from the folder of an executor, and when."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from logbook_agent.cluster.pruning import KEPT_S, prune
from logbook_agent.store.spool import Spool

DAY_S = 24 * 3600.0


@pytest.fixture
def top(tmp_path: Path) -> Path:
    for name in ("spools", "trees"):
        (tmp_path / "far" / name).mkdir(parents=True)
    return tmp_path / "far"


def tree(top: Path, name: str, days: float) -> Path:
    """A read-only tree that was used so many days ago."""
    folder = top / "trees" / name / "src"
    folder.mkdir(parents=True)
    (folder / "a.py").write_bytes(b"x" * 4096)
    folder.chmod(0o500)
    aged(folder.parent, days)
    return folder.parent


def spool(top: Path, name: str, days: float, *files: str, needs: Path | None = None) -> Spool:
    folder = top / "spools" / name
    folder.mkdir(parents=True)
    for file in files:
        (folder / file).write_text("")
        aged(folder / file, days)
    if needs is not None:
        (folder / "original").symlink_to(needs)
    aged(folder, days)
    return Spool(folder=folder, within=top / "spools")


def aged(path: Path, days: float) -> None:
    at = time.time() - days * DAY_S
    os.utime(path, (at, at))


def names(top: Path) -> set[str]:
    return {path.name for kind in ("spools", "trees") for path in (top / kind).iterdir()}


def test_what_is_old_goes_and_what_is_needed_stays(top: Path) -> None:
    tree(top, "old", 15)
    tree(top, "young", 13)
    spool(top, "waits", 20, "worker.lock", needs=tree(top, "needed", 20))
    spool(top, "over", 1, "worker.lock", "final.json", needs=tree(top, "used", 20))
    spool(top, "collected", 15, "closed")
    spool(top, "collected-lately", 13, "closed")
    held = spool(top, "held", 100, "worker.lock", "closed")
    spool(top, "uncollected", 80, "worker.lock", "final.json")
    spool(top, "forgotten", 91, "worker.lock", "final.json")
    with held.claimed():
        aged(held.folder / "worker.lock", 100)
        found = prune(top, kept_s=KEPT_S)
    left = {"young", "waits", "needed", "over", "collected-lately", "held", "uncollected"}
    assert names(top) == left
    assert (found.trees, found.runs, found.uncollected) == (2, 2, 3)
    assert 8192 <= found.bytes < 64 * 1024


def test_above_the_size_the_oldest_goes(top: Path) -> None:
    for days in range(1, 6):
        tree(top, f"{days}", days)
    tree(top, "now", 0)
    prune(top, kept_s=KEPT_S, most_bytes=3 * 4096)
    assert names(top) == {"1", "2", "now"}
    prune(top, kept_s=KEPT_S, most_bytes=0)
    assert names(top) == {"now"}, "it may be about to be used"
