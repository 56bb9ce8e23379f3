"""Which code ran, and what is kept of it beside its commit."""

from __future__ import annotations

import hashlib

from msgspec import Struct


class UntrackedFile(Struct, frozen=True, kw_only=True):
    """A file of code that git does not track, or that the command names; `kept` is its copy in the logbook."""

    path: str
    sha256: str
    bytes: int
    kept: str | None = None


class Code(Struct, frozen=True, kw_only=True):
    """Which code ran. `identity`: the digest of the files that git tracks, as they were in the working tree, of
    untracked files of code, and of those that the command names, all without the logbook root, documents and outputs;
    `sources`: of the files of code among them. `synced`: the digest of the files that were brought to another
    machine."""

    commit: str | None = None
    branch: str | None = None
    identity: str | None = None
    sources: str | None = None
    dirty: bool | None = None
    diff_sha256: str | None = None
    diff_bytes: int | None = None
    diff_kept: str | None = None
    untracked: tuple[UntrackedFile, ...] = ()
    synced: str | None = None

    @property
    def key(self) -> str | None:
        """What runs of the same code have in common; of records of earlier versions the identity of all files."""
        return self.sources or self.identity

    @property
    def mark(self) -> str | None:
        """The same, of code that git does not hold by the files that the command names; None where nothing is known."""
        named = "".join(f"{file.path} {file.sha256}\n" for file in self.untracked)
        return self.key or (hashlib.sha256(named.encode()).hexdigest() if named else None)

    @property
    def kept(self) -> tuple[str, ...]:
        """The files in the logbook that hold the diff and untracked files."""
        return tuple(name for name in (self.diff_kept, *(file.kept for file in self.untracked)) if name is not None)
