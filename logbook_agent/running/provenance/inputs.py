"""The inputs of a run that the user names: files and folders of data, known by their digests."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from logbook_agent.model.run import InputFile

_PIECE_BYTES = 2**20


def input_facts(names: Sequence[str], cwd: Path) -> tuple[tuple[InputFile, ...], list[str]]:
    """The inputs as they are now, named as they were typed for a command in `cwd`; and what could not be read."""
    found, problems = [], []
    for name in dict.fromkeys(names):
        try:
            found.append(input_file(name, cwd / Path(name).expanduser()))
        except OSError as error:
            problems.append(f"input {name}: not read: {error.strerror or error}")
    return tuple(found), problems


def input_file(name: str, path: Path) -> InputFile:
    """The digest and size of a file, or of all files below a folder with their paths. Raises OSError."""
    if not path.is_dir():
        digest, size = _digest(path)
        return InputFile(path=name, sha256=digest, bytes=size)
    whole, total = hashlib.sha256(), 0
    for file in _files(path):
        digest, size = _digest(file)
        whole.update(os.fsencode(file.relative_to(path)) + f"\0{digest}\0".encode())
        total += size
    return InputFile(path=name, sha256=whole.hexdigest(), bytes=total)


def _files(folder: Path) -> Iterator[Path]:
    """The files below a folder in order of their paths; no link to a folder is followed."""
    found = [Path(above) / name for above, _, names in os.walk(folder, onerror=_raise) for name in names]
    yield from sorted(found, key=os.fsencode)


def _raise(error: OSError) -> None:
    raise error


def _digest(path: Path) -> tuple[str, int]:
    # A pipe has no end, or gives what it has only once: to the command.
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a regular file")
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            digest.update(piece)
            size += len(piece)
    return digest.hexdigest(), size
