"""A merge that stopped on conflicts: the versions of both sides, read from git's index and objects.

Plumbing that reads, and nothing else: the working tree, the index and HEAD stay as they are.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from logbook_agent.running.provenance.git_calls import try_git
from logbook_agent.store.repository import repository_of

BASE, OURS, THEIRS = 1, 2, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class GitMerge:
    """The conflicts below a folder; every path is relative to that folder.

    `conflicts`: path -> stage -> object. `theirs_alone`: what stands in the index and not in HEAD, so the other
    side brought it (a merge starts from an index that equals HEAD).
    """

    top: Path
    conflicts: Mapping[str, Mapping[int, str]]
    theirs_alone: frozenset[str]

    def read(self, path: str, stage: int) -> bytes | None:
        """The content of one side; None when that side has no such file."""
        name = self.conflicts.get(path, {}).get(stage)
        return None if name is None else run_git(self.top, ["cat-file", "blob", name])


def merge_below(folder: Path) -> GitMerge | None:
    """The stopped merge as far as it is about `folder`; None when nothing there is in conflict."""
    repository = repository_of(folder)
    if repository is None:
        return None
    place = Path(os.path.realpath(folder)).relative_to(repository.top).as_posix()
    listed = run_git(repository.top, ["ls-files", "-s", "-z", "--full-name", "--", f":(top,literal){place}"])
    if listed is None:
        return None
    conflicts: dict[str, dict[int, str]] = {}
    merged: set[str] = set()
    for line in listed.split(b"\0")[:-1]:
        facts, _, name = line.partition(b"\t")
        _, blob, stage = facts.decode().split(" ")
        path = os.fsdecode(name).removeprefix(f"{place}/")
        if stage == "0":
            merged.add(path)
        else:
            conflicts.setdefault(path, {})[int(stage)] = blob
    if not conflicts:
        return None
    head = run_git(repository.top, ["ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD", "--", place]) or b""
    ours = {os.fsdecode(name).removeprefix(f"{place}/") for name in head.split(b"\0")[:-1]}
    return GitMerge(top=repository.top, conflicts=conflicts, theirs_alone=frozenset(merged - ours))


def in_head(path: Path) -> bool:
    """Whether HEAD holds this file."""
    repository = repository_of(path)
    if repository is None:
        return False
    place = Path(os.path.realpath(path.parent)).relative_to(repository.top) / path.name
    return bool(run_git(repository.top, ["ls-tree", "--name-only", "--full-tree", "HEAD", "--", place.as_posix()]))


def run_git(top: Path, words: Sequence[str]) -> bytes | None:
    """What git prints; None when it is not there or fails (no HEAD yet, say)."""
    return try_git(top, words, os.environ)
