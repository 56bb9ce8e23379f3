"""The file of the index: a cache in SQLite that git ignores, and that a branch may hold all the same.

What SQLite itself would do on behalf of such a file is kept from happening: a journal beside it is played back, and may
name further files to delete; a link is followed; a view or trigger runs with the next question.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from logbook_agent.errors import StoreError
from logbook_agent.paths import check_target
from logbook_agent.store.files import remove

if TYPE_CHECKING:
    import sqlite3

NAME = ".index.sqlite"
_WAIT_S, _PAUSE_S = 0.05, 0.005
# A journal belongs to a write that goes on for some milliseconds; this old, it was left behind or put there.
_STALE_S = 10.0
_BESIDE = ("-journal", "-wal", "-shm")
# Instructions of SQLite's machine between two looks at the clock, and how long one question may take.
_STEPS, _LONGEST_S = 1_000_000, 5.0


def open_database(path: Path, *, within: Path, writing: bool = True) -> sqlite3.Connection:
    """The index. Raises sqlite3.OperationalError where it cannot be used now, sqlite3.DatabaseError where it is none of
    ours. (A reader makes no file.)"""
    import sqlite3

    _check_files(path, within)
    mode = "rwc" if writing else "rw"
    database = sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=_WAIT_S)
    try:
        # A cache need not survive a power cut.
        database.execute("PRAGMA synchronous = OFF")
        database.execute("PRAGMA trusted_schema = OFF")
        _bound(database)
        for kind, sql in database.execute("SELECT type, sql FROM sqlite_master"):
            if kind not in ("table", "index") or _computes(sql or ""):
                raise sqlite3.DatabaseError("it holds what this version does not write")
    except BaseException:
        database.close()
        raise
    return database


def discard(path: Path, *, within: Path) -> None:
    """Remove the index with the files beside it; the next reader makes another."""
    for name in (path.name, *(f"{path.name}{suffix}" for suffix in _BESIDE)):
        remove(path.with_name(name), within=within)


def _check_files(path: Path, within: Path) -> None:
    import sqlite3

    try:
        check_target(path, within)
    except StoreError as error:
        raise sqlite3.OperationalError(error.message) from error
    until = time.monotonic() + _WAIT_S
    while (changed_s := _journal_s(path)) is not None:
        if abs(time.time() - changed_s) > _STALE_S:
            raise sqlite3.DatabaseError("a write to it was cut off")
        if time.monotonic() > until:
            raise sqlite3.OperationalError("another process writes to it")
        time.sleep(_PAUSE_S)


def _journal_s(path: Path) -> float | None:
    """When a file that SQLite would read beside the index was changed; None when there is none."""
    for suffix in _BESIDE:
        with contextlib.suppress(OSError):
            return os.lstat(f"{path}{suffix}").st_mtime
    return None


def _bound(database: sqlite3.Connection) -> None:
    end = time.monotonic() + _LONGEST_S
    database.set_progress_handler(lambda: time.monotonic() > end, _STEPS)


def _computes(sql: str) -> bool:
    words = sql.upper()
    return "VIRTUAL" in words or "CHECK" in words or " AS " in words or "GENERATED" in words
