"""Writing files so that a reader, or the next run, never meets half of one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from logbook_agent.errors import StoreError


def write_atomic(path: Path, data: bytes, *, durable: bool = True, derived: bool = False) -> None:
    """Replace `path` by `data`: a temporary file of its own beside it, fsync, rename, fsync of the folder.

    The last is left out for a `derived` file: after a power cut its old content may stand, and is made anew.
    Raises StoreError naming the file; then the old content stands and no temporary file is left.
    """
    write_pieces(path, (data,), durable=durable, derived=derived)


def write_pieces(path: Path, pieces: Iterable[bytes], *, durable: bool = True, derived: bool = False) -> None:
    """`write_atomic` for what is too much to be held at once."""
    temporary: str | None = None
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        with os.fdopen(descriptor, "wb") as handle:
            handle.writelines(pieces)
            handle.flush()
            if durable:
                os.fsync(handle.fileno())
        # mkstemp makes files private; a record is as readable as what a text editor would write.
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(path)
        temporary = None
        if durable and not derived:
            _sync_folder(path.parent)
    except OSError as error:
        raise write_error(path, error) from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def write_text(path: Path, text: str, *, durable: bool = True, derived: bool = False) -> None:
    """`write_atomic` for text. A lone surrogate (from a name that is no UTF-8) is written as U+FFFD."""
    write_atomic(path, text.encode("utf-8", "replace"), durable=durable, derived=derived)


def create_exclusive(path: Path, data: bytes) -> bool:
    """Create `path` with `data` unless it exists; False when it does."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        return False
    except OSError as error:
        raise write_error(path, error) from error
    with os.fdopen(descriptor, "wb") as handle:
        handle.write(data)
    return True


def read_text(path: Path) -> str:
    """The text of a record. Raises StoreError when it cannot be read or is no UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise StoreError(
            f"{path.name} is not UTF-8 text (byte {error.start})",
            cause=f"{path} was written by another program",
            hint="restore the file from git, then run: logbook status",
        ) from error
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}", cause="the file system said so") from error


def make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(path, error) from error


def write_error(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"cannot write {path}: {error.strerror or error}",
        cause="the disk is full, read-only, or the folder belongs to somebody else",
        hint=f"look at: df -h {path.parent} ; ls -ld {path.parent}",
    )


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    # The mask can only be read by setting it; the tool is single-threaded where it writes records.
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
