"""Where things lie: this user's own folders, by the XDG rules; what comes with this package; and git repositories, as
their files alone tell, without a process."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from logbook_agent.model.errors import UsageError
from logbook_agent.store.folder import Folder

_PACKAGE = Path(__file__).resolve().parents[1]
_HOMES = {
    "config": ("XDG_CONFIG_HOME", ".config"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
    "state": ("XDG_STATE_HOME", ".local/state"),
}


class UserPlaces(Struct, frozen=True, kw_only=True):
    """This user's folders for one root: `cache` holds what can be made again, `state` what cannot. None: there is no
    place for it."""

    cache: Path | None = None
    state: Folder | None = None


NO_PLACES = UserPlaces()


def user_folder(environ: Mapping[str, str], kind: str) -> Path | None:
    """Our folder of a kind: `config`, `cache` or `state`; None where the environment names no home.

    A relative folder is ignored, as the XDG rules demand: it could lead into a repository.
    """
    variable, below_home = _HOMES[kind]
    for name, below in ((variable, ""), ("HOME", below_home)):
        folder = Path(environ.get(name, ""))
        if folder.is_absolute():
            return folder / below / "logbook-agent"
    return None


def made_folder(folder: Folder | None, what: str) -> Folder:
    """One of the user's own folders, which is made. Raises UsageError where there is no place for `what`."""
    if folder is None:
        raise UsageError(
            f"no folder for {what}",
            cause="neither XDG_STATE_HOME nor HOME names an absolute path",
            hint="set HOME",
        )
    folder.make(private=True)
    return folder


def places_of(root: Path, environ: Mapping[str, str]) -> UserPlaces:
    """The folders for a root, named after its real path: two clones share none, and no branch can bring one."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:20]
    cache, state = (user_folder(environ, kind) for kind in ("cache", "state"))
    return UserPlaces(cache=cache and cache / name, state=Folder(state / name) if state is not None else None)


def checkouts_folder(environ: Mapping[str, str]) -> Path:
    """The folder of all checkouts that are made for a while, which is this user's alone. It need not exist."""
    return Path(environ.get("TMPDIR") or "/tmp") / f"logbook-checkouts-{os.getuid()}"  # noqa: S108 - nobody else's


# -- what comes with this package ----------------------------------------------------------------------


@functools.cache
def builtin_folder(name: str) -> Path:
    """`templates`, `recipes` or `docs`: inside the wheel, or at the top of a source checkout."""
    packed = _PACKAGE / "_data" / name
    return packed if packed.is_dir() else _PACKAGE.parent / name


def manual(page: str) -> str:
    """Where this page of docs/ lies on this machine, for a hint."""
    return str(builtin_folder("docs") / page)


# -- git repositories ----------------------------------------------------------------------------------


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
