"""The files of a project's own templates. They come with a branch, so they are read as untrusted input.

A template is a regular file called `*.j2`, after resolving links below the folder of templates, in UTF-8, of at
most 1 MiB. The suffix keeps a template from including `.env` or `.git/config` where the folder is the project's.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from logbook_agent.model.errors import StoreError

SUFFIX = ".j2"
MOST_BYTES = 2**20
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISLNK, "a link to itself"),
)


class RefusedTemplate(Exception):
    """A file that is not read; the message says what it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """`stamp` changes when the file does."""

    text: str
    path: str
    stamp: tuple[int, ...]


def own_folder(folder: Path, within: Path | None) -> Path:
    """The folder of templates with its links resolved. `within`: where it must lie. Raises StoreError."""
    if not os.path.isdir(folder):  # noqa: PTH112 - Path.is_dir raises for a folder that may not be looked into
        raise StoreError(
            f"no template folder at {folder}",
            cause="the setting `templates` names it",
            hint="create it, or remove the setting",
        )
    real = Path(os.path.realpath(folder))
    if within is not None and not real.is_relative_to(os.path.realpath(within)):
        raise StoreError(
            f"the template folder {folder} is outside {within}",
            cause=f"the setting `templates` points to {real}; templates are read from the project's own files only",
            hint="copy the folder into the project and name the copy, or remove the setting",
        )
    return real


def has_file(folder: Path, name: str) -> bool:
    """Whether the folder has something of this name, readable or not."""
    return os.path.lexists(folder / name)


def stamp_of(path: str) -> tuple[int, ...]:
    """What tells this file from a later one; empty where there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - once for each include
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns


def read_template(folder: Path, name: str) -> Source | None:
    """The template `name`, a path below `folder` (links resolved); None when there is no such file.

    Raises Refused for anything that is not such a file.
    """
    if "\0" in name or not has_file(folder, name):
        return None
    real = os.path.realpath(folder / name)
    if not Path(real).is_relative_to(folder):
        raise RefusedTemplate("is a link that points outside the template folder")
    if not real.endswith(SUFFIX):
        raise RefusedTemplate(f"points to {Path(real).name}, which is not called *{SUFFIX}")
    try:
        return Source(text=_text(real), path=real, stamp=stamp_of(real))
    except OSError as error:
        raise RefusedTemplate(f"cannot be read: {error.strerror}") from None


def _text(path: str) -> str:
    # A device may act when it is opened, so its kind is looked at first, and again once it is open.
    _check(os.lstat(path))
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW), "rb") as file:
        _check(os.fstat(file.fileno()))
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise RefusedTemplate(f"is larger than {MOST_BYTES >> 20} MiB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RefusedTemplate(f"is not UTF-8: byte {data[error.start]:#04x} at offset {error.start}") from None


def _check(found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        what = next((name for test, name in _KINDS if test(found.st_mode)), "a device")
        raise RefusedTemplate(f"is {what}, not a regular file")
