"""A disposable index: what `list` and `status` say of each entry, kept as long as its files do not change.

It is a cache and nothing else: deleting it, or damaging it, costs time alone. An entry is known by the size
and last change of its file, of its folder of runs, and of every run.json. What changed within the last
second is not kept, since a second change within one tick of the clock could not be told from the first.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from logbook_agent.model.entry import run_number
from logbook_agent.store import index_file, tried

if TYPE_CHECKING:
    import sqlite3


@dataclass(frozen=True, slots=True)
class Stamp:
    """When (ns) an entry's files last changed, and their sizes; `runs` are (number, time, size).

    The time is that of the last change of any kind (ctime): a modification time can be set to anything.
    """

    entry: tuple[int, int]
    folder: int | None
    runs: tuple[tuple[int, int, int], ...]

    @property
    def newest_ns(self) -> int:
        return max(self.entry[0], self.folder or 0, *(run[1] for run in self.runs))


@dataclass(slots=True)
class Index:
    """`version` names what summaries depend on beside their entries and the code; another one empties it."""

    path: Path | None
    version: str
    known: dict[str, tuple[Stamp, dict[str, Any]]] = field(default_factory=dict)

    def load(self, secrets: Sequence[bytes]) -> None:
        """Read what is known; nothing when there is no index, it is damaged, or it is another version's. A summary with
        one of these secrets is left out: the secret became known later."""
        if self.path is None or not self.path.exists():
            return

        def act(database: sqlite3.Connection) -> dict[str, tuple[Stamp, dict[str, Any]]]:
            found = {}
            if index_file.is_of(database, "version", self.version):
                for entry_id, stamp, summary in database.execute("SELECT id, stamp, summary FROM entries"):
                    data = summary.encode("utf-8", "surrogatepass")
                    if any(secret in data for secret in secrets):
                        continue
                    entry, folder, runs = json.loads(stamp)
                    known = Stamp(tuple(entry), folder, tuple(tuple(r) for r in runs))
                    found[entry_id] = (known, json.loads(summary))
            return found

        with contextlib.suppress(ValueError, TypeError):  # what does not fit is made again
            self.known = index_file.used(self.path, act, {})

    def get(self, entry_id: str, stamp: Stamp) -> dict[str, Any] | None:
        """The summary of an entry, unless its files changed."""
        found = self.known.get(entry_id)
        return found[1] if found is not None and found[0] == stamp else None

    def runs_known(self, entry_id: str, folder: int | None) -> tuple[int, ...] | None:
        """The numbers of an entry's runs, as long as its folder of runs is the one that was seen."""
        found = self.known.get(entry_id)
        if found is None or folder is None or found[0].folder != folder:
            return None
        return tuple(run[0] for run in found[0].runs)

    def save(self, fresh: Mapping[str, tuple[Stamp, dict[str, Any]]], ids: Iterable[str]) -> None:
        """Keep new summaries and forget entries that are gone. When that cannot be done now (another
        process writes, the folder is read-only), the next reader will do it."""
        now = time.time_ns()
        keep = {i: found for i, found in fresh.items() if now - found[0].newest_ns > index_file.RACY_NS}
        gone = set(self.known) - set(ids)
        if not keep and not gone:
            return

        def act(database: sqlite3.Connection) -> None:
            if not index_file.is_of(database, "version", self.version):
                database.execute("DELETE FROM entries")
                database.execute("INSERT OR REPLACE INTO about VALUES ('version', ?)", (self.version,))
            database.executemany("DELETE FROM entries WHERE id = ?", [(i,) for i in gone])
            rows = [
                (i, json.dumps([s.entry, s.folder, s.runs]), json.dumps(summary, ensure_ascii=False))
                for i, (s, summary) in keep.items()
            ]
            database.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", rows)
            tried.put(database, {i: summary.get("keys", ()) for i, (_, summary) in keep.items()})

        index_file.used(self.path, act, None)


def stamp_of(entry: str, runs: str, known_runs: Callable[[int], tuple[int, ...] | None]) -> Stamp:
    """The stamp of an entry's files. `known_runs(folder_mtime)` gives the run numbers without listing the
    folder when it has not changed, else None. Raises OSError when the entry's file is gone."""
    state = os.lstat(entry)
    try:
        folder = os.lstat(runs).st_ctime_ns
    except (FileNotFoundError, NotADirectoryError):
        return Stamp((state.st_ctime_ns, state.st_size), None, ())
    numbers = known_runs(folder)
    if numbers is None:
        found_numbers = (run_number(e.name) for e in os.scandir(runs))
        numbers = tuple(sorted(number for number in found_numbers if number is not None))
    found = []
    for number in numbers:
        try:
            run = os.lstat(f"{runs}/{number:02d}/run.json")
        except (FileNotFoundError, NotADirectoryError):
            continue
        found.append((number, run.st_ctime_ns, run.st_size))
    return Stamp((state.st_ctime_ns, state.st_size), folder, tuple(found))
