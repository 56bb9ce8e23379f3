"""A merge whose conflict markers were staged or committed: what git still knows of both sides."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from logbook_agent.running.provenance.merge import run_git as git_says
from logbook_agent.store.repository import repository_of

# How many merges are looked at, from the latest, for the one that brought the markers.
_MERGES = 20


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
        return git_says(self.top, ["cat-file", "blob", f"{commit}:{self.place}/{path}"])

    def names(self, commit: str, below: str = "") -> set[str]:
        """The files of a commit, all or those below a folder."""
        where = f"{self.place}/{below}".rstrip("/")
        listed = git_says(self.top, ["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, "--", where])
        return {os.fsdecode(name).removeprefix(f"{self.place}/") for name in (listed or b"").split(b"\0")[:-1]}

    def theirs_alone(self) -> frozenset[str]:
        """What they added since the merge base, and ours did not have."""
        before = self.names(self.base) if self.base is not None else set()
        return frozenset(self.names(self.theirs) - self.names(self.ours) - before)


def merges_of(folder: Path) -> Iterator[Joined]:
    """The merge that is not committed yet, then those of the history of HEAD, from the latest."""
    repository = repository_of(folder)
    if repository is None:
        return
    top = repository.top
    place = Path(os.path.realpath(folder)).relative_to(top).as_posix()
    under_way = [_words(top, ["rev-parse", "-q", "--verify", name]) for name in ("HEAD", "MERGE_HEAD")]
    pairs = [[word for words in under_way for word in words]] if all(under_way) else []
    listed = git_says(top, ["rev-list", "--first-parent", "--merges", "--parents", f"-n{_MERGES}", "HEAD"])
    pairs += [line.split()[1:3] for line in (listed or b"").decode().splitlines()]
    for ours, theirs in pairs:
        bases = _words(top, ["merge-base", ours, theirs])
        yield Joined(top=top, place=place, ours=ours, theirs=theirs, base=bases[0] if bases else None)


def _words(top: Path, words: Sequence[str]) -> list[str]:
    return (git_says(top, words) or b"").decode().split()
