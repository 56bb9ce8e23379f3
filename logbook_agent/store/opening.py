"""Opening what somebody else may have put there, and taking locks; `folder.py` says where.

Errors of the file system become StoreErrors: what happened to which file, the likely cause, and what to type.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from logbook_agent.model.errors import StoreError
from logbook_agent.store.names import PROSE_BYTES

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a symbolic link",
}
_PAUSE_S = 0.005


def read_named(path: Path, *, limit: int) -> bytes:
    """The content of a regular file that the user named, whose links are followed. Raises StoreError."""
    return content(path, 0, limit)


def named_text(path: Path, *, limit: int = PROSE_BYTES) -> str:
    """`read_named` as text in UTF-8, with `\\n` for every end of a line."""
    return text_of(read_named(path, limit=limit), path)


def content(path: Path, flags: int, limit: int) -> bytes:
    descriptor, size = opened(path, flags)
    try:
        data = b""
        while size <= limit and (piece := os.read(descriptor, max(size - len(data), 0) + 1)):
            data += piece
            size = max(size, len(data))
    except OSError as error:
        raise unreadable(path, error) from error
    finally:
        os.close(descriptor)
    if size > limit:
        raise StoreError(
            f"{path} has more than {limit} bytes",
            cause=f"a file of this kind holds at most {limit // 2**20} MiB; another program wrote it",
            hint=f"look at it: ls -l {path}",
        )
    return data


def opened(path: Path, flags: int) -> tuple[int, int]:
    """Descriptor and size of a regular file. A pipe or device is opened without waiting for it, and closed at once."""
    try:
        descriptor = os.open(path, flags | os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        # The system has no descriptor for a link (ELOOP) and none for a socket (ENXIO).
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO) and (mode := mode_of(path)) is not None:
            raise not_regular(path, mode) from error
        raise unreadable(path, error) from error
    state = os.fstat(descriptor)
    if not stat.S_ISREG(state.st_mode):
        os.close(descriptor)
        raise not_regular(path, state.st_mode)
    return descriptor, state.st_size


def mode_of(path: Path) -> int | None:
    try:
        return path.lstat().st_mode
    except OSError:
        return None


def take(descriptor: int, timeout_s: float = 0, *, kind: int = fcntl.LOCK_EX) -> bool:
    """Take a lock; whether that was possible in this time."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_PAUSE_S)
        else:
            return True


# -- errors ---------------------------------------------------------------------------------------


def not_regular(path: Path, mode: int) -> StoreError:
    kind = _KINDS.get(stat.S_IFMT(mode), "a special file")
    cause = "a logbook holds only regular files and folders; anything else is neither read nor written"
    if stat.S_ISLNK(mode):
        cause = "links inside the logbook folder are not followed: they may point outside"
    return StoreError(f"{path} is {kind}", cause=cause, hint=f"look at it: ls -ld {path}")


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
        cause = "the disk is full or read-only, a limit is reached, or the folder belongs to somebody else"
        hint = f"look at: df -h {path.parent} ; ls -ld {path.parent} ; ulimit -f"
        if isinstance(error, NotADirectoryError):
            file = next((above for above in path.parents if os.path.lexists(above) and not above.is_dir()), path.parent)
            cause, hint = f"no folder can be made below {file}, which is something else", f"ls -ld {file}"
        elif isinstance(error, FileNotFoundError):
            cause, hint = "its folder was moved or removed", "type in its new place: logbook doctor"
        raise StoreError(f"cannot write {path}: {error.strerror or error}", cause=cause, hint=hint) from error
