"""The versions of both sides of a merge: one that stopped on conflicts, or whose markers were staged or committed.

Plumbing that reads, and nothing else: the working tree, the index and HEAD stay as they are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from logbook_agent.running.provenance.git_calls import try_git
from logbook_agent.store.repository import repository_of

BASE, OURS, THEIRS = 1, 2, 3
# How many merges are looked at, from the latest, for the one that brought the markers.
_MERGES = 20


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
    place = repository.place_of(folder)
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
    ours = _names(repository.top, "HEAD", place)
    return GitMerge(top=repository.top, conflicts=conflicts, theirs_alone=frozenset(merged - ours))


def _names(top: Path, commit: str, place: str, below: str = "") -> set[str]:
    """The files of a commit in a folder, all or those below one in there, relative to it."""
    where = f"{place}/{below}".rstrip("/")
    listed = run_git(top, ["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, "--", where]) or b""
    return {os.fsdecode(name).removeprefix(f"{place}/") for name in listed.split(b"\0")[:-1]}


def in_head(path: Path) -> bool:
    """Whether HEAD holds this file."""
    repository = repository_of(path)
    if repository is None:
        return False
    place = f"{repository.place_of(path.parent)}/{path.name}"
    return bool(run_git(repository.top, ["ls-tree", "--name-only", "--full-tree", "HEAD", "--", place]))


def run_git(top: Path, words: Sequence[str]) -> bytes | None:
    """What git prints; None when it is not there or fails (no HEAD yet, say)."""
    return try_git(top, words, os.environ)


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """The commits that a merge joined; every path is relative to `place`, a folder of the repository `top`."""

    top: Path
    place: str
    ours: str
    theirs: str
    base: str | None

    def read(self, commit: str | None, path: str) -> bytes | None:
        if commit is None:
            return None
        return run_git(self.top, ["cat-file", "blob", f"{commit}:{self.place}/{path}"])

    def names(self, commit: str, below: str = "") -> set[str]:
        """The files of a commit, all or those below a folder."""
        return _names(self.top, commit, self.place, below)

    def theirs_alone(self) -> frozenset[str]:
        """What they added since the merge base, and ours did not have."""
        before = self.names(self.base) if self.base is not None else set()
        return frozenset(self.names(self.theirs) - self.names(self.ours) - before)


def merges_of(folder: Path) -> Iterator[Joined]:
    """The merge that is not committed yet, then those of the history of HEAD, from the latest."""
    repository = repository_of(folder)
    if repository is None:
        return
    top, place = repository.top, repository.place_of(folder)
    under_way = [_words(top, ["rev-parse", "-q", "--verify", name]) for name in ("HEAD", "MERGE_HEAD")]
    pairs = [[word for words in under_way for word in words]] if all(under_way) else []
    listed = run_git(top, ["rev-list", "--first-parent", "--merges", "--parents", f"-n{_MERGES}", "HEAD"])
    pairs += [line.split()[1:3] for line in (listed or b"").decode().splitlines()]
    for ours, theirs in pairs:
        bases = _words(top, ["merge-base", ours, theirs])
        yield Joined(top=top, place=place, ours=ours, theirs=theirs, base=bases[0] if bases else None)


def _words(top: Path, words: Sequence[str]) -> list[str]:
    return (run_git(top, words) or b"").decode().split()
