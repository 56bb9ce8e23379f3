"""Where a file may lie, and reading those that somebody else may have put there: regular ones alone, up to a size,
without ever waiting.

A repository that was pulled is untrusted, and git stores links as readily as files. One rule keeps reads and writes
inside: below the folder that the caller names, no link is followed, wherever it leads. That folder itself may be
reached through links; whoever names it chooses it.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from logbook_agent.model.errors import StoreError

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a symbolic link",
}
# Far above what the tool writes and people type, and little enough to parse within seconds. A run keeps at most 20,000
# rows of 64 Mi characters together, which are some 160 MiB as JSON.
SETTINGS_BYTES = 2**20
PROSE_BYTES = 16 * 2**20
RUN_BYTES = 256 * 2**20
VIEW_BYTES = 256 * 2**20
# What the log of a run is called, beside its record and in its spool.
LOG = "output.log"
# The points of its curves, there, too: of a run that goes on or was cut off, then one of the others. Large ones
# stay out of git.
CURVES_PART, CURVES, CURVES_LARGE = "curves.part", "curves.points", "curves.large.points"
# The folder of its code's diff and untracked files: in the logbook, and in a spool.
CODE = "code"
# The folder of the files that the command left: beside the record of its run, and in its spool.
ARTIFACTS = "artifacts"
_PACKAGE = Path(__file__).resolve().parents[1]


def builtin_folder(name: str) -> Path:
    """`templates`, `recipes` or `docs`: inside the wheel, or at the top of a source checkout."""
    packed = _PACKAGE / "_data" / name
    return packed if packed.is_dir() else _PACKAGE.parent / name


def manual(page: str) -> str:
    """Where this page of docs/ lies on this machine, for a hint."""
    return str(builtin_folder("docs") / page)


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
