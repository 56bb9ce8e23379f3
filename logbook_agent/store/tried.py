"""Which entries hold a command, by its key: hints in the disposable index, so that a run need not read the store.

A hint is never believed: whoever finds one reads the entry. An entry that was never looked at is `unseen`; that there
are none costs a count. Trouble with the file costs the hints alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from logbook_agent.store import index_file

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")

# A key, and whether the entry says that it did not work out (1) or not (0).
Key = Sequence[object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """An entry that holds a key; `compared`: it has a comparison."""

    id: str
    failed: bool
    compared: bool


def put(database: sqlite3.Connection, keys: Mapping[str, Sequence[Key]]) -> None:
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
            put(database, keys)
            if entries is not None and database.execute("SELECT count(*) FROM seen").fetchone() == (entries,):
                database.execute("INSERT OR REPLACE INTO about VALUES ('folder', ?)", (str(folder_ns),))

        self._do(act, None)

    def is_complete(self, folder_ns: int) -> bool:
        """Whether all entries were seen, and their folder has not changed since."""

        def act(database: sqlite3.Connection) -> bool:
            return index_file.is_of(database, "folder", str(folder_ns))

        return self._do(act, False)

    def forget(self, ids: Iterable[str]) -> None:
        """Of entries that are gone."""

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
        """Which of these entries were never looked at, and which were that are none of them any more."""
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
        return index_file.used(self._path, act, otherwise)
