"""The runs of entries, and what was said of them, in the disposable index: only records that changed are opened.

A run is known by the time of the last change (ctime) and the size of its `run.json`. What many runs share, such as the
code, the host and the packages, is kept once, and decoded once.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from logbook_agent.model.codec import encode, field_decoders
from logbook_agent.model.errors import LogbookError, StoreError
from logbook_agent.store import index_file

if TYPE_CHECKING:
    import sqlite3

    from logbook_agent.model.run import Row, Run

# Fewer runs than this are read as fast as they are looked up in the index: they are kept in this process alone.
_LEAST = 10
_SHARED = frozenset(("format", "entry", "cwd", "launcher", "env", "code", "host", "devices", "software", "exit"))
# What a text that does not fit raises; those of the codec and of JSON are ValueErrors.
_MISFITS = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
_SHARED_BY_ROWS = frozenset(("devices", "software", "host"))


# When (ns) a `run.json` last changed in any way, and its size.
Stamp: TypeAlias = tuple[int, int]


def stamps_in(folder: Path, numbers: Sequence[int]) -> dict[int, Stamp]:
    """The stamps of an entry's runs by number, in the order given; those without a record are left out."""
    stat, place = os.lstat, f"{folder}/"
    try:
        states = [stat(f"{place}{number:02d}/run.json") for number in numbers]
    except OSError:
        found = {}
        for number in numbers:
            with contextlib.suppress(OSError):
                state = stat(f"{place}{number:02d}/run.json")
                found[number] = (state.st_ctime_ns, state.st_size)
        return found
    return {number: (s.st_ctime_ns, s.st_size) for number, s in zip(numbers, states, strict=True)}


def are_settled(stamps: Iterable[Stamp]) -> bool:
    """Whether a second change of any of these files could be told from the one that its stamp is of."""
    return time.time_ns() - max((changed for changed, _ in stamps), default=0) > index_file.RACY_NS


@dataclass(slots=True)
class RunsIndex:
    """The runs of one logbook. Nothing here raises: what cannot be had is read from its file."""

    path: Path | None
    _known: dict[str, dict[int, tuple[Stamp, Run]]] = field(default_factory=dict)

    def each(
        self, entry_id: str, stamps: Mapping[int, Stamp], read: Callable[[int], Run], *, is_all: bool
    ) -> list[tuple[int, Run | LogbookError]]:
        """These runs of an entry with their numbers, or why one cannot be read; `read` is asked for those that are not
        known. `is_all`: the entry has no others."""
        known = self.runs(entry_id, stamps)
        found: list[tuple[int, Run | LogbookError]] = []
        fresh: dict[int, tuple[Stamp, Run]] = {}
        for number, stamp in stamps.items():
            run: Run | LogbookError | None = known.get(number)
            if run is None:
                try:
                    run = read(number)
                    fresh[number] = (stamp, run)
                except StoreError as error:
                    run = error
            found.append((number, run))
        self.keep(entry_id, fresh, stamps if is_all else None)
        return found

    def runs(self, entry_id: str, stamps: Mapping[int, Stamp]) -> dict[int, Run]:
        """Those of these runs of an entry that have not changed since they were kept."""
        known = self._known.setdefault(entry_id, {})
        if self._is_worth_it(stamps) and any(
            number not in known or known[number][0] != stamp for number, stamp in stamps.items()
        ):
            known.update(self._load(entry_id, stamps))
        return {number: known[number][1] for number, stamp in stamps.items() if _holds(known.get(number), stamp)}

    def keep(
        self, entry_id: str, read: Mapping[int, tuple[Stamp, Run]], numbers: Collection[int] | None = None
    ) -> None:
        """Keep runs that were read, unless they changed a moment ago, and with `numbers` forget all others of the
        entry. When that cannot be done now, the next reader will do it."""
        settled = {number: found for number, found in read.items() if are_settled([found[0]])}
        known = self._known.setdefault(entry_id, {})
        known.update(settled)
        gone = set(known) - set(numbers) if numbers is not None else set()
        for number in gone:
            del known[number]
        if not (settled or gone) or not self._is_worth_it(numbers if numbers is not None else read):
            return

        def act(database: sqlite3.Connection) -> None:
            database.executemany("DELETE FROM runs WHERE id = ? AND run = ?", [(entry_id, n) for n in gone])
            number_of = _Numbers(database).of
            rows = [(entry_id, n, *stamp, _packed(run, number_of)) for n, (stamp, run) in settled.items()]
            database.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?)", rows)

        index_file.used(self.path, act, None)

    def _is_worth_it(self, numbers: Collection[int]) -> bool:
        """Whether these runs, or the entry by its highest number, are many."""
        return bool(numbers) and (len(numbers) >= _LEAST or max(numbers) > _LEAST)

    def _load(self, entry_id: str, stamps: Mapping[int, Stamp]) -> dict[int, tuple[Stamp, Run]]:
        if self.path is None or not self.path.exists():
            return {}

        def act(database: sqlite3.Connection) -> dict[int, tuple[Stamp, Run]]:
            found: dict[int, tuple[Stamp, Run]] = {}
            unpack = _Unpacking(database)
            rows = database.execute(
                "SELECT run, changed, size, body FROM runs WHERE id = ? AND run BETWEEN ? AND ?",
                (entry_id, min(stamps), max(stamps)),
            ).fetchall()
            for number, changed, size, body in rows:
                stamp = (changed, size)
                if stamps.get(number) == stamp:
                    with contextlib.suppress(*_MISFITS):  # then it is read from its file
                        found[number] = (stamp, unpack.run(body))
            return found

        return index_file.used(self.path, act, {})


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidIndex:
    """What was said of entries and took long to find: a text for each place, under a key that names everything that it
    follows from. What cannot be had is made again."""

    path: Path | None

    def remember(self, place: str, key: str, make: Callable[[], str]) -> str:
        """The text that was kept in a place under this key, else the one that `make` gives, which is kept there."""

        def kept(database: sqlite3.Connection) -> str | None:
            found = database.execute("SELECT value FROM said WHERE id = ? AND key = ?", (place, key)).fetchone()
            return found[0] if found is not None and isinstance(found[0], str) else None

        is_there = self.path is not None and self.path.exists()
        text = index_file.used(self.path, kept, None) if is_there else None
        if text is None:
            text = made = make()
            statement = "INSERT OR REPLACE INTO said VALUES (?, ?, ?)"
            index_file.used(self.path, lambda database: database.execute(statement, (place, key, made)), None)
        return text


def _holds(known: tuple[Stamp, Run] | None, stamp: Stamp) -> bool:
    return known is not None and known[0] == stamp


class _Numbers:
    """The numbers of shared parts by their text; a new one gets the next."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._known: dict[str, int] = {}

    def of(self, text: str) -> int:
        number = self._known.get(text)
        if number is None:
            self._database.execute("INSERT INTO parts (text) VALUES (?) ON CONFLICT DO NOTHING", (text,))
            [number] = self._database.execute("SELECT number FROM parts WHERE text = ?", (text,)).fetchone()
            self._known[text] = number
        return number


def _packed(run: Run, number_of: Callable[[str], int]) -> str:
    """A run as the number of what it shares, its rows alike, and the rest."""
    plain = encode(run)
    rows = [_split(row, _SHARED_BY_ROWS, number_of) for row in plain.pop("rows", ())]
    # ASCII: a lone surrogate, which UTF-8 does not have, stands as JSON's own escape.
    return json.dumps([*_split(plain, _SHARED, number_of), rows])


def _split(plain: dict[str, Any], shared: frozenset[str], number_of: Callable[[str], int]) -> tuple[int, Any]:
    part = {name: value for name, value in plain.items() if name in shared}
    return number_of(json.dumps(part)), {name: value for name, value in plain.items() if name not in shared}


class _Unpacking:
    """Runs from what was kept, each shared part decoded once. Raises one of `_MISFITS` for what does not fit."""

    def __init__(self, database: sqlite3.Connection) -> None:
        from logbook_agent.model.run import Row, Run

        self._database = database
        self._run, self._row = Run, Row
        self._fields, self._row_fields = field_decoders(Run), field_decoders(Row)
        self._parts: dict[tuple[bool, int], dict[str, Any]] = {}

    def run(self, body: str) -> Run:
        number, rest, rows = json.loads(body)
        return self._run(
            **self._part(False, number),
            **{name: self._fields[name](value) for name, value in rest.items()},
            rows=tuple([self._row_of(*row) for row in rows]),
        )

    def _row_of(self, number: int, rest: Mapping[str, Any]) -> Row:
        fields = self._row_fields
        return self._row(**self._part(True, number), **{name: fields[name](value) for name, value in rest.items()})

    def _part(self, of_row: bool, number: int) -> dict[str, Any]:
        found = self._parts.get((of_row, number))
        if found is None:
            [text] = self._database.execute("SELECT text FROM parts WHERE number = ?", (number,)).fetchone()
            fields = self._row_fields if of_row else self._fields
            found = {name: fields[name](value) for name, value in json.loads(text).items()}
            self._parts[of_row, number] = found
        return found
