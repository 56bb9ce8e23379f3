"""A disposable cache in the user's folder: one table, `(place, key) -> value`. It keeps what `list` and `status` say of
each entry as long as the files that this follows from do not change.

Deleting or damaging it costs time alone, and nothing here raises for it. One that other code made is removed. What
changed within the last second is not kept: a second change within one tick of the clock could not be told from the
first.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from msgspec import Struct, field

from logbook_agent.model.run_numbers import run_number

if TYPE_CHECKING:
    import sqlite3

    from logbook_agent.model.summary import Summary

T = TypeVar("T")

_PACKAGE = Path(__file__).resolve().parents[1]
_BUSY_S = 0.05
# What changed later than this before it was read is not kept: a second change could not be told from the first.
RACY_NS = 1_000_000_000
_BESIDE = ("-journal", "-wal", "-shm")
_TABLE = "CREATE TABLE IF NOT EXISTS kept (place TEXT, key TEXT, value TEXT, PRIMARY KEY (place, key)) WITHOUT ROWID"
SUMMARIES = "summaries"


class Cache(Struct, frozen=True):
    """The cache in this file; None: there is no place for one."""

    path: Path | None

    def values(self, place: str) -> dict[str, str]:
        """What is kept for a place, by key."""
        if self.path is None or not self.path.exists():
            return {}
        rows = "SELECT key, value FROM kept WHERE place = ?"
        return self._used(lambda database: dict(database.execute(rows, (place,))), {})

    def keep(self, place: str, values: Mapping[str, str], gone: Iterable[str]) -> None:
        """Keep these values and forget the keys that are gone. When that cannot be done now, because another process
        writes or the folder is read-only, the next reader will do it."""

        def act(database: sqlite3.Connection) -> None:
            database.executemany("DELETE FROM kept WHERE place = ? AND key = ?", [(place, key) for key in gone])
            rows = ((place, key, value) for key, value in values.items())
            database.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", rows)

        self._used(act, None)

    def _used(self, act: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """What `act` returns for the database, in a transaction; `otherwise` where another process holds it, or it is
        damaged: then it is removed."""
        import sqlite3

        if self.path is None:
            return otherwise
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with contextlib.closing(self._opened(self.path)) as database, database:
                return act(database)
        except (sqlite3.OperationalError, OSError):
            return otherwise
        except sqlite3.DatabaseError:
            _remove(self.path)
            return otherwise

    def _opened(self, path: Path) -> sqlite3.Connection:
        import sqlite3

        database = sqlite3.connect(path, timeout=_BUSY_S)
        [(version,)] = database.execute("PRAGMA user_version")
        if version not in (0, code_key()):
            database.close()
            _remove(path)
            database = sqlite3.connect(path, timeout=_BUSY_S)
        # A cache need not survive a power cut.
        database.execute("PRAGMA synchronous = OFF")
        database.execute(_TABLE)
        if version != code_key():
            database.execute(f"PRAGMA user_version = {code_key()}")
        return database


def _remove(path: Path) -> None:
    """Remove a cache with what SQLite keeps beside it, as far as that can be done."""
    for name in (path, *(path.with_name(path.name + end) for end in _BESIDE)):
        with contextlib.suppress(OSError):
            name.unlink()


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


# -- what is said of entries ---------------------------------------------------------------------------


class Stamp(NamedTuple):
    """When an entry's files last changed, and their sizes, as text; and the newest of these times (ns).

    The time is that of the last change of any kind (ctime): a modification time can be set to anything.
    """

    text: str
    newest_ns: int


def stamp_of(entry: str, runs: str) -> Stamp:
    """The stamp of an entry's file and of the folder of its runs. Raises OSError when the entry's file is gone."""
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
    return Stamp(repr(found), max(changed_ns for _, changed_ns, _ in found))


class KeptSummaries(Struct):
    """`version` names what summaries depend on beside their entries and the code."""

    cache: Cache
    version: str
    known: dict[str, tuple[str, Summary]] = field(default_factory=dict)
    # Before any file was looked at.
    began_ns: int = field(default_factory=time.time_ns)

    def load(self, secrets: Sequence[bytes]) -> None:
        """Read what is known. A summary with one of these secrets is left out: the secret became known later."""
        self.known = {}
        for entry_id, text in self.cache.values(SUMMARIES).items():
            data = text.encode("utf-8", "surrogatepass")
            if not any(secret in data for secret in secrets):
                with contextlib.suppress(ValueError, TypeError):  # what does not fit is made again
                    version, stamp, summary = json.loads(text)
                    if version == self.version:
                        self.known[entry_id] = stamp, summary

    def get(self, entry_id: str, stamp: Stamp) -> Summary | None:
        """The summary of an entry, unless its files changed."""
        found = self.known.get(entry_id)
        return found[1] if found is not None and found[0] == stamp.text else None

    def save(self, fresh: Mapping[str, tuple[Stamp, Summary]], ids: Iterable[str]) -> None:
        """Keep new summaries and forget entries that are gone."""
        keep = {
            i: json.dumps([self.version, s.text, summary], ensure_ascii=False)
            for i, (s, summary) in fresh.items()
            if self.began_ns - s.newest_ns > RACY_NS
        }
        gone = set(self.known) - set(ids)
        if keep or gone:
            self.cache.keep(SUMMARIES, keep, gone)
