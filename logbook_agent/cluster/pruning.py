"""Removes synced trees and finished spools from the folder of an executor on another machine."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from logbook_agent.running.executors.contract import PruneCount
from logbook_agent.running.worker.tree import ORIGINAL
from logbook_agent.store.files import remove_tree
from logbook_agent.store.spool import BEGAN, CLOSED, FINAL, HEARTBEAT, LOCK, WORK, Spool

_DAY_S = 24 * 3600.0
# How long trees are kept after their last use, and files of runs after these were collected.
KEPT_S = 14 * _DAY_S
# How long files of runs that nobody has collected are kept.
UNCOLLECTED_S = 90 * _DAY_S
# If the first kind takes more, its oldest are removed sooner.
MOST_BYTES = 10 * 2**30
# Younger ones are kept: a run may be about to use them.
_YOUNG_S = 3600.0
# The time between two automatic prunings.
_PACE_S = 3600.0
_LOOKED = "pruned"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Left:
    """An unused tree or spool, with the time of its last use (seconds since the epoch)."""

    path: Path
    at: float
    is_tree: bool


def prune_if_due(top: Path, *, uncollected_s: float = UNCOLLECTED_S) -> None:
    """Prune the folder of an executor, at most once an hour."""
    stamp = top / _LOOKED
    if stamp.exists() and time.time() - stamp.stat().st_mtime < _PACE_S:
        return
    with contextlib.suppress(OSError):
        stamp.touch()  # not on a full disk, where pruning makes room
    with contextlib.suppress(OSError):
        prune(top, kept_s=KEPT_S, uncollected_s=uncollected_s)


def prune(
    top: Path, *, kept_s: float, uncollected_s: float = UNCOLLECTED_S, most_bytes: int = MOST_BYTES
) -> PruneCount:
    """Remove what nobody has used for these times; if the rest is larger than `most_bytes`, remove its oldest, too.
    Spools whose lock is held stay, and so do trees of runs that have not ended."""
    now = time.time()
    idle: list[_Left] = []
    uncollected: list[_Left] = []
    needed: set[str] = set()
    for path in _folders(top / "spools"):
        spool = Spool(folder=path, within=path.parent)
        with contextlib.suppress(OSError):
            left = _Left(path=spool.folder, at=_last_sign(spool), is_tree=False)
            if spool.has(CLOSED) and not spool.is_held():
                idle.append(left)
                continue
            if not spool.has(FINAL) and spool.has(ORIGINAL):
                needed.add(os.readlink(spool.folder / ORIGINAL))  # noqa: PTH115
            if not spool.is_held():
                uncollected.append(left)
    for path in _folders(top / "trees"):
        if str(path) not in needed:
            idle.append(_Left(path=path, at=path.stat().st_mtime, is_tree=True))
    old = [left for left in idle if now - left.at > max(kept_s, _YOUNG_S)]
    rest = sorted((left for left in idle if left not in old), key=lambda left: left.at)
    sizes = {left.path: _size(left.path) for left in idle}
    total = sum(sizes[left.path] for left in rest)
    while rest and total > most_bytes and now - rest[0].at > _YOUNG_S:
        total -= sizes[rest[0].path]
        old.append(rest.pop(0))
    forgotten = [left for left in uncollected if now - left.at > uncollected_s]
    for left in (*old, *forgotten):
        remove_tree(left.path, within=top)
    return PruneCount(
        trees=sum(left.is_tree for left in old),
        runs=sum(not left.is_tree for left in (*old, *forgotten)),
        bytes=sum(sizes.get(left.path, 0) for left in old),
        uncollected=len(uncollected) - len(forgotten),
    )


def _folders(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]
    except FileNotFoundError:
        return []


def _last_sign(spool: Spool) -> float:
    """The time of the last write there."""
    paths = [spool.folder / name for name in (LOCK, WORK, BEGAN, HEARTBEAT, FINAL, CLOSED)]
    return max(path.stat().st_mtime for path in (spool.folder, *paths) if path.exists())


def _size(folder: Path) -> int:
    """The disk space of a folder, in bytes."""
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                size += os.lstat(os.path.join(place, name)).st_blocks * 512  # noqa: PTH118
    return size
