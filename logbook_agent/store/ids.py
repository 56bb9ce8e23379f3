"""Reserving experiment IDs: exclusive creation of a file per ID, shared by all worktrees of a clone."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from logbook_agent.model.ids import format_id, id_number
from logbook_agent.repository import repository_of
from logbook_agent.store.files import create_exclusive, make_folder


def reservation_folder(root: Path, prefix: str) -> tuple[Path, str | None]:
    """Where IDs of `prefix` are reserved, and a warning when worktrees cannot share the sequence.

    Inside a git work tree that is the common git folder, so that worktrees of one clone never hand out
    the same ID; elsewhere, or when that folder is read-only, `<root>/.ids/`.
    """
    own = root / ".ids" / prefix
    place = repository_of(root)
    if place is None:
        return own, None
    relative = os.path.relpath(os.path.realpath(root), place.top)
    shared = place.common_dir / "logbook-agent" / "ids" / _one_name(relative) / prefix
    if shared.is_dir() or os.access(_existing(shared), os.W_OK):
        return shared, None
    return own, f"{place.common_dir} is read-only: IDs are not shared with other worktrees of this clone"


def _existing(path: Path) -> Path:
    return next(p for p in (path, *path.parents) if p.exists())


def highest(names: Iterable[str], prefix: str) -> int:
    """The highest number among the IDs of `prefix`; -1 when there is none (the first ID is 000)."""
    return max((n for name in names if (n := id_number(name, prefix)) is not None), default=-1)


def reserve(folder: Path, prefix: str, taken: Iterable[str], owner: bytes) -> str:
    """The next free ID after every one in `taken` and every reservation; it is never given out again.

    `owner` (who reserves, as JSON) is kept in the reservation, so that one whose owner died is known.
    """
    make_folder(folder)
    number = max(highest(taken, prefix), highest(_names(folder), prefix)) + 1
    while not create_exclusive(folder / format_id(prefix, number), owner):
        number += 1
    return format_id(prefix, number)


def _names(folder: Path) -> list[str]:
    return [e.name for e in os.scandir(folder)] if folder.is_dir() else []


def _one_name(path: str) -> str:
    """A path as one file name, different for different paths."""
    return path.replace("%", "%25").replace("/", "%2F")
