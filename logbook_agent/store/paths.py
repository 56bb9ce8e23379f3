"""Where a file may lie: below its folder, with no symbolic link on the way.

A repository that was pulled is untrusted, and git stores links as readily as files. One rule keeps reads and writes
inside: below the folder that the caller names, no link is followed, wherever it leads. That folder itself may be
reached through links; whoever names it chooses it.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from logbook_agent.model.errors import StoreError

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a symbolic link",
}


def check_place(path: Path, within: Path) -> None:
    """Raise StoreError unless `path` lies below `within` and no folder between the two is a symbolic link.

    The last step is the caller's: opened without following a link, or replaced.
    """
    top, text = os.fspath(within).rstrip("/"), os.fspath(path)
    steps = text[len(top) + 1 :].split("/")
    if not text.startswith(f"{top}/") or any(step in ("", ".", "..") or "\0" in step for step in steps):
        raise StoreError(
            f"{text!r} is not below {within}",
            cause="a name in a logbook file points outside its folder",
            hint="logbook doctor",
        )
    place = top
    for step in steps[:-1]:
        place = f"{place}/{step}"
        try:
            mode = os.lstat(place).st_mode
        except OSError:
            return  # it is not there yet, or the operation itself will say what is wrong
        if stat.S_ISLNK(mode):
            raise not_regular(Path(place), mode)


def check_target(path: Path, within: Path) -> None:
    """`check_place`, and that what `path` already names is a regular file."""
    check_place(path, within)
    try:
        mode = path.lstat().st_mode
    except OSError:
        return
    if not stat.S_ISREG(mode):
        raise not_regular(path, mode)


def not_regular(path: Path, mode: int) -> StoreError:
    """The error for a file that is something else."""
    kind = _KINDS.get(stat.S_IFMT(mode), "a special file")
    cause = "a logbook holds only regular files and folders; anything else is neither read nor written"
    if stat.S_ISLNK(mode):
        cause = "links inside the logbook folder are not followed: they may point outside"
    return StoreError(f"{path} is {kind}", cause=cause, hint=f"look at it: ls -ld {path}")


def is_inside(path: Path, folder: Path) -> bool:
    """Whether `path` lies in `folder` or is it, all links resolved."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
