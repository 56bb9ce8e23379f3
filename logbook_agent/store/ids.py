"""Reserving experiment IDs: exclusive creation of a file per ID, shared by all worktrees of a clone."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct, structs

from logbook_agent.model.entry import bare_id, format_id, id_number, sorted_ids
from logbook_agent.model.errors import StoreError
from logbook_agent.store.folder import Folder
from logbook_agent.store.layout import SETTINGS_BYTES
from logbook_agent.store.parse import parse_json
from logbook_agent.store.repository import repository_of


class Reservations(Struct, frozen=True, kw_only=True):
    """The folder where IDs of one `prefix` are reserved, for logbooks in `root`. `warning`: worktrees cannot share
    it."""

    files: Folder
    root: Path
    prefix: str
    warning: str | None = None

    def claim(self, entry_id: str) -> bool:
        """Reserve this very ID; False where it was given out."""
        self.files.make()
        return self.files.create(entry_id, self._data)

    def reserve(self, taken: Iterable[str]) -> str:
        """The next free ID after every one in `taken` and every reservation; it is never given out again. The
        reservation names the root that its entry will be in."""
        self.files.make()
        number = max(highest(taken, self.prefix), highest(self.files.names(), self.prefix)) + 1
        while not self.files.create(format_id(self.prefix, number), self._data):
            number += 1
        return format_id(self.prefix, number)

    @property
    def _data(self) -> bytes:
        return json.dumps({"root": str(self.root)}).encode()

    def voids(self, taken: Iterable[str]) -> list[str]:
        """IDs that were reserved from `root` and have no entry. (Other worktrees keep their entries, so what they
        reserved is no business of this one.)"""
        have = set(map(bare_id, taken))
        left = [name for name in sorted_ids(self.files.names(), self.prefix) if name not in have]
        return [name for name in left if self._root_of(name) in (None, str(self.root))]

    def _root_of(self, name: str) -> object:
        """The root that an ID was reserved from; None when its process was killed before it wrote that."""
        try:
            found = parse_json(self.files.text(name, limit=SETTINGS_BYTES), self.files.at(name))
        except StoreError:
            return None
        return found.get("root") if isinstance(found, dict) else None


def reservations_of(root: Path, prefix: str) -> Reservations:
    """Where IDs of `prefix` are reserved.

    Inside a git work tree that is the common git folder, so that worktrees of one clone never hand out
    the same ID; elsewhere, or when that folder is read-only, `<root>/.ids/`.
    """
    own = Reservations(files=Folder(root).below(f".ids/{prefix}"), root=root, prefix=prefix)
    place = repository_of(root)
    if place is None:
        return own
    relative = os.path.relpath(os.path.realpath(root), place.top)
    shared = Folder(place.common_dir).below(f"logbook-agent/ids/{_one_name(relative)}/{prefix}")
    # Asking is not enough: a folder may be writable and its file system read-only.
    try:
        shared.make()
        if os.access(shared.path, os.W_OK):
            return structs.replace(own, files=shared)
    except StoreError as error:
        refused = error.__cause__.errno if isinstance(error.__cause__, OSError) else None
        if refused not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
    warning = f"{place.common_dir} is read-only: IDs are not shared with other worktrees of this clone"
    return structs.replace(own, warning=warning)


def highest(names: Iterable[str], prefix: str) -> int:
    """The highest number among the IDs of `prefix`; -1 when there is none (the first ID is 000)."""
    found = sorted_ids(names, prefix)
    return -1 if not found else id_number(found[-1], prefix) or 0


def _one_name(path: str) -> str:
    """A path as one file name, different for different paths."""
    return path.replace("%", "%25").replace("/", "%2F")
