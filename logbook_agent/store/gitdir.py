"""Where a folder stands in a git repository, read from git's own files: no process is started."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class GitPlace:
    """`top` is the work tree's top folder; `common` the folder that all worktrees of a clone share."""

    top: Path
    common: Path


def git_place(path: Path) -> GitPlace | None:
    """The work tree that holds `path` (which need not exist), or None outside of any."""
    path = path.absolute()
    for folder in (path, *path.parents):
        dot_git = folder / ".git"
        if dot_git.is_dir() and (dot_git / "HEAD").exists():
            return GitPlace(top=folder, common=dot_git)
        if dot_git.is_file():
            return _linked(folder, dot_git)
    return None


def _linked(top: Path, dot_git: Path) -> GitPlace | None:
    """A worktree or submodule: `.git` is a file that names the real folder (gitrepository-layout(5))."""
    text = dot_git.read_text(encoding="utf-8", errors="surrogateescape").strip()
    if not text.startswith("gitdir:"):
        return None
    folder = (top / text.removeprefix("gitdir:").strip()).resolve()
    shared = folder / "commondir"
    if not shared.is_file():
        return GitPlace(top=top, common=folder)
    relative = shared.read_text(encoding="utf-8", errors="surrogateescape").strip()
    return GitPlace(top=top, common=(folder / relative).resolve())
