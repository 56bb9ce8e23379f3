"""A disposable index in the user's cache: what `list` and `status` say of each entry, which entries hold a command, and
answers of comparisons, as long as the files that they follow from do not change.

It is a cache and nothing else: deleting or damaging it costs time alone, and nothing here raises for it. An index that
other code made is removed. What changed within the last second is not kept: a second change within one tick of the
clock could not be told from the first.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

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
_SCHEMA = {
    name: f"CREATE {text}"
    for name, text in {
        # What each part of the index follows from, and which code made it.
        "about": "TABLE about (key TEXT PRIMARY KEY, value TEXT)",
        # Of each entry what `list` and `status` say.
        "entries": "TABLE entries (id TEXT PRIMARY KEY, stamp TEXT, summary TEXT)",
        # Which entries hold a command.
        "tried": "TABLE tried (key TEXT, id TEXT, failed INTEGER, PRIMARY KEY (key, id)) WITHOUT ROWID",
        "tried_ids": "INDEX tried_ids ON tried (id)",
        "seen": "TABLE seen (id TEXT PRIMARY KEY) WITHOUT ROWID",
    }.items()
}


def used(path: Path | None, act: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
    """What `act` returns for the database, in a transaction; `otherwise` where there is no place for the file, another
    process holds it, or it is damaged: then it is removed. Never raises."""
    import sqlite3

    if path is None:
        return otherwise
    try:
        with opened(path) as database:
            return act(database)
    except (sqlite3.OperationalError, OSError):
        return otherwise
    except sqlite3.DatabaseError:
        remove(path)
        return otherwise


def is_of(database: sqlite3.Connection, part: str, version: str) -> bool:
    """Whether a part of the index was made for this version."""
    return bool(database.execute("SELECT value FROM about WHERE key = ?", (part,)).fetchone() == (version,))


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The database of an index, in a transaction that is committed when the block ends well; empty where there was none
    that this code made. Raises sqlite3.Error, or OSError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    database = _connect(path)
    try:
        tables = _tables(database)
        if tables and not (tables == _SCHEMA and is_of(database, "code", code_key())):
            database.close()
            remove(path)
            database = _connect(path)
            tables = {}
        if not tables:
            _make(database)
        # A cache need not survive a power cut.
        database.execute("PRAGMA synchronous = OFF")
        with database:
            yield database
    finally:
        database.close()


def _connect(path: Path) -> sqlite3.Connection:
    import sqlite3

    return sqlite3.connect(path, timeout=_BUSY_S)


def remove(path: Path) -> None:
    """Remove an index with what SQLite keeps beside it, as far as that can be done."""
    for name in (path, *(path.with_name(path.name + end) for end in _BESIDE)):
        with contextlib.suppress(OSError):
            name.unlink()


def _tables(database: sqlite3.Connection) -> dict[str, str]:
    """What the file defines, by name. Raises sqlite3.Error when it is damaged."""
    return dict(database.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))


def _make(database: sqlite3.Connection) -> None:
    # One transaction: another process sees all of it or an empty file, and may have been first.
    database.execute("BEGIN IMMEDIATE")
    with database:
        if not _tables(database):
            for statement in _SCHEMA.values():
                database.execute(statement)
            database.execute("INSERT INTO about VALUES ('code', ?)", (code_key(),))


@functools.cache
def code_key() -> str:
    """A digest of this package: of the list of files in its wheel, which states what each holds; else of the
    sizes and times of change of its files."""
    listed = sorted(_PACKAGE.parent.glob("logbook_agent-*.dist-info/RECORD"))
    if listed:
        return hashlib.sha256(b"".join(path.read_bytes() for path in listed)).hexdigest()
    return hashlib.sha256("\n".join(sorted(_stamps(str(_PACKAGE)))).encode()).hexdigest()


def _stamps(folder: str) -> Iterator[str]:
    for found in os.scandir(folder):
        if found.is_dir(follow_symlinks=False):
            if found.name != "__pycache__":
                yield from _stamps(found.path)
        else:
            state = found.stat()
            yield f"{found.path} {state.st_size} {state.st_mtime_ns}"


# -- what is said of entries ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stamp:
    """When (ns) an entry's files last changed, and their sizes; `runs` are (folder, time, size).

    The time is that of the last change of any kind (ctime): a modification time can be set to anything.
    """

    entry: tuple[int, int]
    folder: int | None
    runs: tuple[tuple[str, int, int], ...]

    @property
    def newest_ns(self) -> int:
        return max(self.entry[0], self.folder or 0, *(run[1] for run in self.runs))


@dataclass(slots=True)
class Index:
    """`version` names what summaries depend on beside their entries and the code; another one empties it."""

    path: Path | None
    version: str
    known: dict[str, tuple[Stamp, Summary]] = field(default_factory=dict)

    def load(self, secrets: Sequence[bytes]) -> None:
        """Read what is known; nothing when there is no index, it is damaged, or it is another version's. A summary with
        one of these secrets is left out: the secret became known later."""
        if self.path is None or not self.path.exists():
            return

        def act(database: sqlite3.Connection) -> dict[str, tuple[Stamp, Summary]]:
            found = {}
            if is_of(database, "version", self.version):
                for entry_id, stamp, summary in database.execute("SELECT id, stamp, summary FROM entries"):
                    data = summary.encode("utf-8", "surrogatepass")
                    if any(secret in data for secret in secrets):
                        continue
                    entry, folder, runs = json.loads(stamp)
                    known = Stamp(tuple(entry), folder, tuple(tuple(r) for r in runs))
                    found[entry_id] = (known, json.loads(summary))
            return found

        with contextlib.suppress(ValueError, TypeError):  # what does not fit is made again
            self.known = used(self.path, act, {})

    def get(self, entry_id: str, stamp: Stamp) -> Summary | None:
        """The summary of an entry, unless its files changed."""
        found = self.known.get(entry_id)
        return found[1] if found is not None and found[0] == stamp else None

    def runs_known(self, entry_id: str, folder: int | None) -> tuple[str, ...] | None:
        """The folders of an entry's runs, as long as its folder of runs is the one that was seen."""
        found = self.known.get(entry_id)
        if found is None or folder is None or found[0].folder != folder:
            return None
        return tuple(run[0] for run in found[0].runs)

    def save(self, fresh: Mapping[str, tuple[Stamp, Summary]], ids: Iterable[str]) -> None:
        """Keep new summaries and forget entries that are gone. When that cannot be done now (another
        process writes, the folder is read-only), the next reader will do it."""
        now = time.time_ns()
        keep = {i: found for i, found in fresh.items() if now - found[0].newest_ns > RACY_NS}
        gone = set(self.known) - set(ids)
        if not keep and not gone:
            return

        def act(database: sqlite3.Connection) -> None:
            if not is_of(database, "version", self.version):
                database.execute("DELETE FROM entries")
                database.execute("INSERT OR REPLACE INTO about VALUES ('version', ?)", (self.version,))
            database.executemany("DELETE FROM entries WHERE id = ?", [(i,) for i in gone])
            # One text at a time: that of an entry with many rows is large.
            rows = (
                (i, json.dumps([s.entry, s.folder, s.runs]), json.dumps(summary, ensure_ascii=False))
                for i, (s, summary) in keep.items()
            )
            database.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", rows)
            _put(database, {i: summary.get("keys", ()) for i, (_, summary) in keep.items()})

        used(self.path, act, None)


def stamp_of(entry: str, runs: str, known_runs: Callable[[int], tuple[str, ...] | None]) -> Stamp:
    """The stamp of an entry's files. `known_runs(folder_mtime)` gives the folders of runs without listing the
    folder when it has not changed, else None. Raises OSError when the entry's file is gone."""
    state = os.lstat(entry)
    try:
        folder = os.lstat(runs).st_ctime_ns
    except (FileNotFoundError, NotADirectoryError):
        return Stamp((state.st_ctime_ns, state.st_size), None, ())
    names = known_runs(folder)
    if names is None:
        names = tuple(sorted(e.name for e in os.scandir(runs) if run_number(e.name) is not None))
    found = []
    for name in names:
        try:
            run = os.lstat(f"{runs}/{name}/run.json")
        except (FileNotFoundError, NotADirectoryError):
            continue
        found.append((name, run.st_ctime_ns, run.st_size))
    return Stamp((state.st_ctime_ns, state.st_size), folder, tuple(found))


# -- entries by their commands -------------------------------------------------------------------------

# A key, and whether the entry says that it did not work out (1) or not (0).
Key = Sequence[object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """An entry that holds a key; `compared`: it has a comparison."""

    id: str
    failed: bool
    compared: bool


def _put(database: sqlite3.Connection, keys: Mapping[str, Sequence[Key]]) -> None:
    """Keep the keys of entries, by ID, in place of those kept before. (In somebody else's transaction.)"""
    database.executemany("DELETE FROM tried WHERE id = ?", [(i,) for i in keys])
    rows = [(key, i, failed) for i, found in keys.items() for key, failed in found]
    database.executemany("INSERT OR REPLACE INTO tried VALUES (?, ?, ?)", rows)
    database.executemany("INSERT OR IGNORE INTO seen VALUES (?)", [(i,) for i in keys])


class TriedIndex:
    """The hints of one logbook. Nothing here raises: without a file that can be read, every entry is unseen."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def keep(self, keys: Mapping[str, Sequence[Key]], *, entries: int | None = None, folder_ns: int = 0) -> None:
        """Keep the keys of entries; when that cannot be done now, whoever looks next will see to it.

        `entries`: how many there are in all, and `folder_ns` when their folder had last changed before they were
        counted: once all are seen, nobody need count them again until it changes.
        """
        if not keys and entries is None:
            return

        def act(database: sqlite3.Connection) -> None:
            _put(database, keys)
            if entries is not None and database.execute("SELECT count(*) FROM seen").fetchone() == (entries,):
                database.execute("INSERT OR REPLACE INTO about VALUES ('folder', ?)", (str(folder_ns),))

        self._do(act, None)

    def is_complete(self, folder_ns: int) -> bool:
        """Whether all entries were seen, and their folder has not changed since."""

        def act(database: sqlite3.Connection) -> bool:
            return is_of(database, "folder", str(folder_ns))

        return self._do(act, False)

    def forget(self, ids: Iterable[str]) -> None:
        """Drop the hints of entries that are gone."""

        def act(database: sqlite3.Connection) -> None:
            gone = [(i,) for i in ids]
            database.executemany("DELETE FROM tried WHERE id = ?", gone)
            database.executemany("DELETE FROM seen WHERE id = ?", gone)

        self._do(act, None)

    def found(self, key: str, *, compared: str = "") -> list[Hint]:
        """The entries that have a key, the newest first and at most 100 of them. With `compared` in front, an ID is the
        key of an entry with a comparison."""
        if self._path is None or not self._path.exists():
            return []

        def act(database: sqlite3.Connection) -> list[Hint]:
            rows = database.execute(
                "SELECT id, failed, EXISTS (SELECT 1 FROM tried AS c WHERE c.key = ? || t.id) FROM tried AS t"
                " WHERE key = ? ORDER BY length(id) DESC, id DESC LIMIT 100",
                (compared, key),
            )
            return [Hint(id=i, failed=bool(failed), compared=bool(c)) for i, failed, c in rows]

        return self._do(act, [])

    def unseen(self, names: Sequence[str]) -> tuple[set[str], set[str]]:
        """Those of these entries that were never looked at; and others that were, and are gone."""
        if self._path is None or not self._path.exists():
            return set(names), set()

        def act(database: sqlite3.Connection) -> tuple[set[str], set[str]]:
            if database.execute("SELECT count(*) FROM seen").fetchone() == (len(names),):
                return set(), set()
            seen = {i for (i,) in database.execute("SELECT id FROM seen")}
            return set(names) - seen, seen - set(names)

        nothing: set[str] = set()
        return self._do(act, (set(names), nothing))

    def _do(self, act: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        return used(self._path, act, otherwise)
