"""Folders for checkouts that are made for a while, and their removal, also when whoever made them was killed.

They lie in the folder of temporary files, below one that belongs to this user alone, at the same path each time: caches
that go by paths, and commands that name them, stay the same from one sitting to the next.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from logbook_agent.model.errors import StoreError
from logbook_agent.running.provenance.worktrees import Checkout
from logbook_agent.store.files import make_folder, remove_tree, write_text
from logbook_agent.store.processes import is_alive, is_in_use, this_host, this_process
from logbook_agent.store.workspace import checkouts_folder

_OWNER = "owner.json"
# A folder without an owner is younger than this while its owner is being written.
_YOUNG_S = 60.0


@contextlib.contextmanager
def checkout_folder(checkout: Checkout) -> Iterator[Path]:
    """An empty folder for checkouts of a repository, removed in the end. Raises StoreError where the folder of all
    checkouts is another user's."""
    above = checkouts_folder(checkout.environ)
    make_folder(above, within=above, private=True)
    if not _is_own(above):
        raise StoreError(
            f"{above} is not a folder of this user alone",
            cause="another user, or another program, made it",
            hint="remove it, or set TMPDIR to another folder",
        )
    above = Path(os.path.realpath(above))
    clean(above, checkout.environ)
    slot = _taken(above, f"{checkout.top.name}-{hashlib.sha256(os.fsencode(checkout.top)).hexdigest()[:8]}")
    try:
        owner = this_process()
        told = {"host": this_host(), "pid": owner.pid, "started": owner.started, "repository": str(checkout.top)}
        write_text(slot / _OWNER, json.dumps(told), within=above)
        yield slot
    finally:
        _remove(slot, above)


def _taken(above: Path, name: str) -> Path:
    """A new folder, which no other process has."""
    make_folder(above / name, within=above, private=True)
    for number in itertools.count(1):
        slot = above / name / str(number)
        with contextlib.suppress(FileExistsError):
            slot.mkdir(mode=0o700)
            return slot
    raise AssertionError("there are more numbers than folders")


def clean(above: Path, environ: Mapping[str, str]) -> None:
    """Remove the checkouts of processes that are gone, unless a command still runs in one."""
    # Their own process, or another that cleans, may remove them meanwhile.
    with contextlib.suppress(FileNotFoundError):
        for slot in above.glob("*/*") if _is_own(above) else ():
            if _is_left(slot):
                top = _owner(slot).get("repository")
                if isinstance(top, str):
                    _withdraw(Checkout(top=Path(top), inside=".", environ=environ), slot)
                _remove(slot, above)


def _is_own(above: Path) -> bool:
    """Whether a folder is this user's, and nobody else may write there."""
    state = above.lstat()
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.getuid() and not state.st_mode & 0o077


def _is_left(slot: Path) -> bool:
    owner = _owner(slot)
    if owner:
        return not is_alive(owner) and not is_in_use(slot)
    with contextlib.suppress(OSError):
        return time.time() - slot.lstat().st_mtime > _YOUNG_S and not is_in_use(slot)
    return False


def _owner(slot: Path) -> dict[str, object]:
    try:
        found = json.loads((slot / _OWNER).read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _withdraw(checkout: Checkout, slot: Path) -> None:
    """Have git forget the working trees in a folder."""
    for folder in (p for p in slot.glob("*") if p.is_dir()):
        with contextlib.suppress(StoreError):
            checkout.remove(folder)


def _remove(slot: Path, above: Path) -> None:
    remove_tree(slot, within=above)
    for folder in (slot.parent, above):
        with contextlib.suppress(OSError):
            folder.rmdir()
