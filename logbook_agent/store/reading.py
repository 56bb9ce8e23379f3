"""Reading files that somebody else may have put there: regular ones alone, up to a size, without ever waiting."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from logbook_agent.model.errors import StoreError
from logbook_agent.store.paths import check_place, not_regular

# Far above what the tool writes and people type, and little enough to parse within seconds. A run keeps at most 20,000
# rows of 64 Mi characters together, which are some 160 MiB as JSON.
SETTINGS_BYTES = 2**20
PROSE_BYTES = 16 * 2**20
RUN_BYTES = 256 * 2**20
VIEW_BYTES = 256 * 2**20


def read_bytes(path: Path, *, within: Path | None, limit: int) -> bytes:
    """The content of a regular file below `within`; None for a file that the user named, whose links are followed.

    Raises StoreError for anything else, and for more than `limit` bytes.
    """
    descriptor, size = _open(path, within)
    try:
        data = b""
        while size <= limit and (piece := os.read(descriptor, max(size - len(data), 0) + 1)):
            data += piece
            size = max(size, len(data))
    except OSError as error:
        raise _unreadable(path, error) from error
    finally:
        os.close(descriptor)
    if size > limit:
        raise StoreError(
            f"{path} has more than {limit} bytes",
            cause=f"a file of this kind holds at most {limit // 2**20} MiB; another program wrote it",
            hint=f"look at it: ls -l {path}",
        )
    return data


def read_text(path: Path, *, within: Path | None, limit: int = PROSE_BYTES) -> str:
    """`read_bytes` as text. Raises StoreError when it is no UTF-8."""
    return text_of(read_bytes(path, within=within, limit=limit), path)


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


def open_file(path: Path, *, within: Path) -> BinaryIO:
    """A regular file below `within`, open for reading, for what is too much to be held at once. Raises StoreError."""
    descriptor, _ = _open(path, within)
    return os.fdopen(descriptor, "rb")


def names_in(folder: Path, *, within: Path) -> list[str]:
    """The names in a folder below `within`, in no order; none when it is not there. Raises StoreError for a link."""
    check_place(folder / "file", within)
    try:
        return os.listdir(folder)  # noqa: PTH208
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise _unreadable(folder, error) from error


def _open(path: Path, within: Path | None) -> tuple[int, int]:
    """Descriptor and size. A pipe or device is opened without waiting for it, and closed at once."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    if within is not None:
        check_place(path, within)
        flags |= os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        # The system has no descriptor for a link (ELOOP) and none for a socket (ENXIO).
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO) and (mode := _mode(path)) is not None:
            raise not_regular(path, mode) from error
        raise _unreadable(path, error) from error
    state = os.fstat(descriptor)
    if not stat.S_ISREG(state.st_mode):
        os.close(descriptor)
        raise not_regular(path, state.st_mode)
    return descriptor, state.st_size


def _mode(path: Path) -> int | None:
    try:
        return path.lstat().st_mode
    except OSError:
        return None


def _unreadable(path: Path, error: OSError) -> StoreError:
    return StoreError(f"cannot read {path}: {error.strerror}", cause="reported by the file system")
