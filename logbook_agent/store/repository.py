"""Where a git repository lies, from its files alone: no process, nothing written."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from msgspec import Struct


class Repository(Struct, frozen=True, kw_only=True):
    """`top`: the working tree; `git_dir`: this worktree's own; `common_dir`: what all worktrees share."""

    top: Path
    git_dir: Path
    common_dir: Path

    def place_of(self, path: Path) -> str:
        """Where in the working tree a path lies, all links resolved; `.` for the whole of it."""
        return Path(os.path.realpath(path)).relative_to(self.top).as_posix()


def repository_of(path: Path) -> Repository | None:
    """The repository that `path` lies in (it need not exist yet); None when there is none.

    Worktrees and submodules have a file `.git` that names their git directory; `commondir` in there names the
    directory that a worktree shares. GIT_DIR is not read: the place of the files decides.
    """
    place = Path(os.path.realpath(path))
    for folder in (place, *place.parents):
        git_dir = _git_dir(folder / ".git")
        if git_dir is not None:
            return Repository(top=folder, git_dir=git_dir, common_dir=_common_dir(git_dir))
    return None


def branch_of(repository: Repository) -> str | None:
    """The branch that is checked out, also before its first commit; None when HEAD is detached."""
    head = _first_line(repository.git_dir / "HEAD")
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else None


def commit_of(place: Path, branch: str) -> str | None:
    """The commit that a branch of the repository of a place ends in; None where there is no such branch."""
    found, ref = repository_of(place), f"refs/heads/{branch}"
    if found is None or ".." in branch:
        return None
    try:
        packed = (found.common_dir / "packed-refs").read_text(errors="replace").splitlines()
    except OSError:
        packed = []
    named = (line.partition(" ") for line in packed)
    return _first_line(found.common_dir / ref) or next((sha for sha, _, name in named if name == ref), None)


def is_in_index(path: Path, text: bytes) -> bool:
    """Whether the index of the repository of a file has exactly this text. It names each blob by its digest."""
    found, blob = repository_of(path), b"blob %d\0%s" % (len(text), text)
    try:
        index = (found.git_dir / "index").read_bytes() if found is not None else b""
    except OSError:
        return False
    return any(hashlib.new(name, blob, usedforsecurity=False).digest() in index for name in ("sha1", "sha256"))


def _git_dir(entry: Path) -> Path | None:
    if entry.is_dir():
        return entry if (entry / "HEAD").is_file() else None
    named = _first_line(entry)
    if not named.startswith("gitdir: "):
        return None
    git_dir = Path(os.path.realpath(entry.parent / named.removeprefix("gitdir: ")))
    return git_dir if (git_dir / "HEAD").is_file() else None


def _common_dir(git_dir: Path) -> Path:
    named = _first_line(git_dir / "commondir")
    return Path(os.path.realpath(git_dir / named)) if named else git_dir


def _first_line(path: Path) -> str:
    try:
        # A pipe of this name is opened without waiting for it, and holds nothing.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            return os.fsdecode(file.readline(65536)).rstrip("\n")
    except OSError:
        return ""
