"""A disposable cache in the user's folder: `(place, key) -> stamp, value`, a file for each place. It keeps what `list`
and `status` say of each entry and its block of the view, each with the stamp of the data that it follows from; and
when an executor that did not answer is asked again.

Deleting or damaging it costs time alone, and nothing here raises for it. What another version of
this package made is not read.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from logbook_agent.model.errors import StoreError
from logbook_agent.model.run_numbers import run_number
from logbook_agent.store.folder import Folder
from logbook_agent.store.names import VIEW_BYTES

_PACKAGE = Path(__file__).resolve().parents[1]
# What changed later than this before it was read is not kept: a second change could not be told from the first.
RACY_NS = 1_000_000_000


class Cache(Struct, frozen=True):
    """The cache of a logbook in this folder; None: there is no place for one."""

    folder: Path | None
    topic: str

    def values(self, place: str, secrets: Collection[str] = ()) -> dict[str, tuple[str, str]]:
        """What is kept for a place: stamp and value by key. A value with one of these secrets is left out: the secret
        became known later."""
        if self.folder is None:
            return {}
        with contextlib.suppress(StoreError, ValueError, TypeError):
            code, kept = json.loads(Folder(self.folder).text(self._file(place), limit=VIEW_BYTES))
            if code == code_key():
                return {key: (s, value) for key, s, value in kept if not any(secret in value for secret in secrets)}
        return {}

    def keep(self, place: str, values: Mapping[str, tuple[str, str]]) -> None:
        """Keep these values for a place, and no others. Where that fails, or another process
        replaces them at the same time, the next reader makes them again."""
        if self.folder is None:
            return
        text = json.dumps([code_key(), [[key, *value] for key, value in values.items()]], ensure_ascii=False)
        with contextlib.suppress(StoreError):
            files = Folder(self.folder)
            files.make(private=True)
            files.write(self._file(place), text, durable=False, private=True)

    def _file(self, place: str) -> str:
        return f"{self.topic}.{place}.json"


@functools.cache
def code_key() -> int:
    """A number of 31 bits that stands for this package: for the list of files in its wheel, which states what each
    holds; else for the sizes and times of change of its files. Never 0."""
    listed = sorted(_PACKAGE.parent.glob("logbook_agent-*.dist-info/RECORD"))
    data = b"".join(path.read_bytes() for path in listed) or "\n".join(sorted(_stamps(str(_PACKAGE)))).encode()
    return int.from_bytes(hashlib.sha256(data).digest()[:4]) >> 1 or 1


def _stamps(folder: str) -> Iterator[str]:
    for found in os.scandir(folder):
        if found.is_dir(follow_symlinks=False):
            if found.name != "__pycache__":
                yield from _stamps(found.path)
        else:
            state = found.stat()
            yield f"{found.path} {state.st_size} {state.st_mtime_ns}"


# -- the stamp of an entry -----------------------------------------------------------------------------


def stamp_of(entry: str, runs: str) -> tuple[str, int]:
    """When an entry's file and the records in the folder of its runs last changed, and their sizes, as text; and the
    newest of these times (ns). Raises OSError when the entry's file is gone.

    The times are those of the last change of any kind (ctime): a modification time can be set to anything.
    """
    state = os.lstat(entry)
    found = [("", state.st_ctime_ns, state.st_size)]
    try:
        names = os.listdir(runs)  # noqa: PTH208
    except (FileNotFoundError, NotADirectoryError):
        names = []
    for name in sorted(name for name in names if run_number(name) is not None):
        try:
            state = os.lstat(f"{runs}/{name}/run.json")
        except (FileNotFoundError, NotADirectoryError):
            found.append((name, 0, 0))  # its record is still to come
        else:
            found.append((name, state.st_ctime_ns, state.st_size))
    return repr(found), max(changed_ns for _, changed_ns, _ in found)
