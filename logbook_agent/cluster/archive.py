"""What a run has left on another machine: an archive that is brought into its spool."""

from __future__ import annotations

import contextlib
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, BinaryIO

from logbook_agent.cluster.far import FETCHED, FOLDERS
from logbook_agent.cluster.questions import MOST_BYTES
from logbook_agent.model.errors import StoreError
from logbook_agent.store.spool import FINAL, Spool

_PIECE_BYTES = 2**20
# What is brought lies here until it is whole.
_ARRIVING = ".arriving"
# Of the path of a file.
_MOST_PARTS = 10


def bring(spool: Spool, files: Iterable[tuple[str, Iterable[bytes]]]) -> None:
    """Write what a run has left into its spool, a piece at a time, the end last. Raises StoreError, and keeps nothing,
    where `files` do."""
    arriving, brought = spool.folder / _ARRIVING, []
    try:
        for name, pieces in files:
            if name in FETCHED or _is_kept(name):
                spool.files.make((arriving / name).parent)
                spool.files.write(arriving / name, pieces)
                brought.append(name)
        for name in sorted(brought, key=lambda name: name == FINAL):
            spool.files.make((spool.folder / name).parent)
            spool.files.move(arriving / name, spool.folder / name)
    finally:
        spool.files.remove_tree(arriving)


def _is_kept(name: str) -> bool:
    """Whether this is a file of the code or of the command."""
    parts = Path(name).parts
    return 1 < len(parts) < _MOST_PARTS and parts[0] in FOLDERS and ".." not in parts


def members(archive: BinaryIO) -> Iterator[tuple[str, Iterator[bytes]]]:
    """The files of an archive, for `bring`. Raises StoreError where it cannot be read, or unpacks to too much."""
    size = 0
    with _reading(), tarfile.open(fileobj=archive, mode="r|gz") as tar:
        for entry in tar:
            size += entry.size
            if size > MOST_BYTES:
                raise tarfile.ReadError(f"it unpacks to more than {MOST_BYTES >> 20} MiB")
            file = tar.extractfile(entry) if entry.isfile() else None
            if file is not None:
                yield entry.name, _pieces(file)


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with _reading():
        yield from iter(lambda: file.read(_PIECE_BYTES), b"")


@contextlib.contextmanager
def _reading() -> Iterator[None]:
    """Turn errors of reading an archive into StoreError."""
    try:
        yield
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise StoreError("cannot read the files that the run left behind", cause=str(error)) from error
