"""Errors of the file system as StoreErrors: what happened to which file, the likely cause, and what to type."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
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


def outside(path: str, folder: Path) -> StoreError:
    return StoreError(
        f"{path!r} is not below {folder}",
        cause="a name in a logbook file points outside its folder",
        hint="logbook doctor",
    )


def not_regular(path: Path, mode: int) -> StoreError:
    kind = _KINDS.get(stat.S_IFMT(mode), "a special file")
    cause = "a logbook holds only regular files and folders; anything else is neither read nor written"
    if stat.S_ISLNK(mode):
        cause = "links inside the logbook folder are not followed: they may point outside"
    return StoreError(f"{path} is {kind}", cause=cause, hint=f"look at it: ls -ld {path}")


def too_large(path: Path, limit: int) -> StoreError:
    return StoreError(
        f"{path} has more than {limit} bytes",
        cause=f"a file of this kind holds at most {limit // 2**20} MiB; another program wrote it",
        hint=f"look at it: ls -l {path}",
    )


def unreadable(path: Path, error: OSError) -> StoreError:
    return StoreError(f"cannot read {path}: {error.strerror}", cause="reported by the file system")


def text_of(data: bytes, path: Path) -> str:
    """The text of a file's content, with `\\n` for every end of a line. Raises StoreError when it is no UTF-8."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise StoreError(
            f"{path} is not UTF-8 text (byte {error.start})",
            cause="it was written by another program",
            hint="restore the file from git, then run: logbook status",
        ) from error
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise StoreError about the file that is written for every OSError in the block."""
    try:
        yield
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> StoreError:
    cause = "the disk is full or read-only, a limit is reached, or the folder belongs to somebody else"
    hint = f"look at: df -h {path.parent} ; ls -ld {path.parent} ; ulimit -f"
    if isinstance(error, NotADirectoryError):
        file = next((above for above in path.parents if os.path.lexists(above) and not above.is_dir()), path.parent)
        cause, hint = f"no folder can be made below {file}, which is something else", f"ls -ld {file}"
    elif isinstance(error, FileNotFoundError):
        cause, hint = "its folder was moved or removed", "type in its new place: logbook doctor"
    return StoreError(f"cannot write {path}: {error.strerror or error}", cause=cause, hint=hint)
