"""The versions of both sides of a merge that stopped on conflicts (a rebase or a cherry-pick alike), from git's index.

Nothing is written: the working tree, the index and HEAD stay as they are.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from logbook_agent.running.provenance.git_calls import try_git
from logbook_agent.store.repository import repository_of

_OURS, _THEIRS = "2", "3"


@dataclass(frozen=True, slots=True, kw_only=True)
class GitConflicts:
    """The conflicts below a folder; every path is relative to that folder.

    `unmerged`: path -> stage -> object. `theirs_alone`: path -> object of the files in the index that HEAD lacks, so
    the other side brought them (a merge starts from an index that equals HEAD).
    """

    top: Path
    unmerged: Mapping[str, Mapping[str, str]]
    theirs_alone: Mapping[str, str]

    def ours(self, path: str) -> bytes | None:
        """Our version of a file in conflict; None when we have none."""
        return self._read(self.unmerged.get(path, {}).get(_OURS))

    def theirs(self, path: str) -> bytes | None:
        """Their version of a file in conflict or of theirs alone; None when they have none."""
        return self._read(self.unmerged.get(path, {}).get(_THEIRS) or self.theirs_alone.get(path))

    def is_added_twice(self, path: str) -> bool:
        """Whether both sides created this file, each its own."""
        return set(self.unmerged.get(path, {})) == {_OURS, _THEIRS}

    def _read(self, name: str | None) -> bytes | None:
        return None if name is None else _git(self.top, ["cat-file", "blob", name])


def conflicts_below(folder: Path) -> GitConflicts | None:
    """The stopped merge as far as it is about `folder`; None when nothing there is in conflict."""
    repository = repository_of(folder)
    if repository is None:
        return None
    top, place = repository.top, repository.place_of(folder)
    listed = _git(top, ["ls-files", "-s", "-z", "--full-name", "--", f":(top,literal){place}"]) or b""
    unmerged: dict[str, dict[str, str]] = {}
    merged: dict[str, str] = {}
    for line in listed.split(b"\0")[:-1]:
        facts, _, name = line.partition(b"\t")
        _, blob, stage = facts.decode().split(" ")
        path = os.fsdecode(name).removeprefix(f"{place}/")
        if stage == "0":
            merged[path] = blob
        else:
            unmerged.setdefault(path, {})[stage] = blob
    if not unmerged:
        return None
    head = _git(top, ["ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD", "--", place]) or b""
    ours = {os.fsdecode(name).removeprefix(f"{place}/") for name in head.split(b"\0")[:-1]}
    theirs_alone = {path: blob for path, blob in merged.items() if path not in ours}
    return GitConflicts(top=top, unmerged=unmerged, theirs_alone=theirs_alone)


def in_head(path: Path) -> bool:
    """Whether HEAD holds this file."""
    repository = repository_of(path)
    if repository is None:
        return False
    place = f"{repository.place_of(path.parent)}/{path.name}"
    return bool(_git(repository.top, ["ls-tree", "--name-only", "--full-tree", "HEAD", "--", place]))


def _git(top: Path, words: Sequence[str]) -> bytes | None:
    """The output of git; None when it is not there or fails (no HEAD yet, say)."""
    return try_git(top, words, os.environ)
