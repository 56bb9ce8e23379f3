"""The file of the disposable index. What it holds is a cache of this machine, and nothing else is read from it.

The file lies below the repository, where a pulled branch can put one of the same name. So the tables state the file
system and the inode of the file that they were made in: a file that git, or a copy, put there has another inode. The
schema must be ours to the letter, because a view or a trigger could compute for ever. A journal that no process is
writing is never played back: SQLite would delete the file that a forged one names. A file that fails one of these
checks is removed, which costs time alone.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from logbook_agent.model.errors import StoreError
from logbook_agent.store import files
from logbook_agent.store.reading import check_place

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")

_BUSY_S = 0.05
_POLL_S = 0.002
# A transaction takes milliseconds; its journal is younger than this.
_JOURNAL_S = 5.0
# Instructions of SQLite's machine between two looks at the clock, and how long the file may be used at a time.
_STEPS, _LONGEST_S = 1_000_000, 5.0
# What changed later than this before it was read is not kept: a second change could not be told from the first.
RACY_NS = 1_000_000_000
_BESIDE = ("-journal", "-wal", "-shm")
_SCHEMA = {
    name: f"CREATE {text}"
    for name, text in {
        # The place of the file, and of each part of the index which version wrote it.
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


def used(path: Path, within: Path, act: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
    """What `act` says of the database, in a transaction; `otherwise` where the file cannot be had now, or is damaged:
    then it is removed. An index costs or saves time, and never raises."""
    import sqlite3

    try:
        with opened(path, within) as database:
            return act(database)
    except (sqlite3.OperationalError, OSError):
        return otherwise
    except sqlite3.DatabaseError:
        remove(path, within)
        return otherwise


def is_of(database: sqlite3.Connection, part: str, version: str) -> bool:
    """Whether a part of the index was written in this version."""
    return bool(database.execute("SELECT value FROM about WHERE key = ?", (part,)).fetchone() == (version,))


def renew(database: sqlite3.Connection, part: str, version: str, *emptying: str) -> None:
    """Make a part that was written in another version one of this: what it holds is deleted by `emptying`."""
    if not is_of(database, part, version):
        for statement in emptying:
            database.execute(statement)
        database.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (part, version))


@contextmanager
def opened(path: Path, within: Path) -> Iterator[sqlite3.Connection]:
    """The database of an index, in a transaction that is committed when the block ends well; empty where there is none
    that is ours. `within` is the folder of logbooks. Raises sqlite3.Error, or OSError."""
    import sqlite3

    try:
        check_place(path, within)
        if _is_foreign(path):
            remove(path, within)
    except StoreError as error:
        raise sqlite3.OperationalError(error.message) from error
    database = _connect(path)
    try:
        tables = _tables(database)
        if tables and not _is_ours(database, path, tables):
            database.close()
            remove(path, within)
            database = _connect(path)
            tables = {}
        if not tables:
            _make(database, path)
        # A cache need not survive a power cut.
        database.execute("PRAGMA synchronous = OFF")
        with database:
            yield database
    finally:
        database.close()


def _connect(path: Path) -> sqlite3.Connection:
    import sqlite3

    database = sqlite3.connect(path, timeout=_BUSY_S)
    database.execute("PRAGMA trusted_schema = OFF")
    end = time.monotonic() + _LONGEST_S
    database.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
    return database


def remove(path: Path, within: Path) -> None:
    """Remove an index with what SQLite keeps beside it, as far as that can be done."""
    for name in (path, *(path.with_name(path.name + end) for end in _BESIDE)):
        with contextlib.suppress(StoreError):
            files.remove(name, within=within)


def copied(path: Path, within: Path, to: Path) -> None:
    """Copy an index of this machine to another folder, as far as that can be done now; the original stays as it is."""
    import sqlite3

    if not os.path.lexists(path) or problem_of(path, within) is not None:
        return
    with contextlib.suppress(sqlite3.Error, OSError):
        source = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_BUSY_S)
        with contextlib.closing(source), contextlib.closing(sqlite3.connect(to)) as target:
            source.backup(target)
            target.execute("UPDATE about SET value = ? WHERE key = 'place'", (_place(to),))
            target.commit()


def problem_of(path: Path, within: Path) -> str | None:
    """What is wrong with an index, without a change to it; None when it is whole, missing or just being written."""
    import sqlite3

    if not os.path.lexists(path):
        return None
    try:
        check_place(path, within)
        if _is_foreign(path):
            return "it was not made on this machine"
        database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=2.0)
        with contextlib.closing(database):
            tables = _tables(database)
            if tables and not _is_ours(database, path, tables):
                return "it was not made in this place, or by another version"
            answer = str(database.execute("PRAGMA quick_check(1)").fetchone()[0])
    except StoreError as error:
        return error.message
    except sqlite3.Error as error:
        busy = isinstance(error, sqlite3.OperationalError) and "locked" in str(error)
        return None if busy else str(error)
    return None if answer == "ok" else answer


def _is_foreign(path: Path) -> bool:
    """Whether a file of the index is none that SQLite makes here: a link, no file, or a journal that was left."""
    for end in ("", *_BESIDE):
        try:
            found = os.lstat(f"{path}{end}")
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            return True
        if end and not _is_going(f"{path}{end}", found.st_mtime):
            return True
    return False


def _is_going(journal: str, changed: float) -> bool:
    """Whether a journal was that of a transaction which has just ended; False for one that was left. Raises
    sqlite3.OperationalError when it cannot be told yet."""
    import sqlite3

    for _ in range(round(_BUSY_S / _POLL_S)):
        if abs(time.time() - changed) > _JOURNAL_S:
            return False
        if not os.path.lexists(journal):
            return True
        time.sleep(_POLL_S)
    raise sqlite3.OperationalError("database is locked: another process writes it")


def _tables(database: sqlite3.Connection) -> dict[str, str]:
    """What the file defines, by name. Raises sqlite3.Error when it is damaged."""
    return dict(database.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))


def _is_ours(database: sqlite3.Connection, path: Path, tables: Mapping[str, str]) -> bool:
    """Whether the file was made here, by this version."""
    return tables == _SCHEMA and is_of(database, "place", _place(path))


def _make(database: sqlite3.Connection, path: Path) -> None:
    # One transaction: another process sees all of it or an empty file, and may have been first.
    database.execute("BEGIN IMMEDIATE")
    with database:
        if _tables(database):
            return
        for statement in _SCHEMA.values():
            database.execute(statement)
        database.execute("INSERT INTO about VALUES ('place', ?)", (_place(path),))


def _place(path: Path) -> str:
    found = os.stat(path)  # noqa: PTH116  it was just opened
    return f"{found.st_dev}:{found.st_ino}"
