"""The file of the disposable index, in the user's cache: what is kept there is made again from the records. A file that
is damaged, or was made by other code, is removed, which costs time alone."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from logbook_agent.store.code_key import code_key

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")

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
        # Runs, without the parts that many runs share; and those parts.
        "runs": "TABLE runs (id TEXT, run INTEGER, changed INTEGER, size INTEGER, body TEXT, PRIMARY KEY (id, run))",
        "parts": "TABLE parts (number INTEGER PRIMARY KEY, text TEXT UNIQUE)",
        # What the block of a long entry says of its runs.
        "said": "TABLE said (id TEXT PRIMARY KEY, key TEXT, value TEXT)",
    }.items()
}


def used(path: Path | None, act: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
    """What `act` says of the database, in a transaction; `otherwise` where there is no place for the file, it cannot be
    had now, or is damaged: then it is removed. An index costs or saves time, and never raises."""
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
    """Whether this is what a part of the index follows from."""
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
