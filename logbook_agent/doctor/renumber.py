"""Giving an entry or a run another number: the files move, the old ID stays as an alias, relations follow."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from logbook_agent.doctor.examination import Examination
from logbook_agent.model.entry import RELATIONS, Entry, run_number
from logbook_agent.model.errors import StoreError
from logbook_agent.model.run import Run
from logbook_agent.store import records


def twin_of(
    examination: Examination, entry: Entry, old_id: str, runs: Mapping[int, Run] = MappingProxyType({})
) -> str | None:
    """The ID under which this entry stands already: a mend that was cut off had got so far.

    It is the same in everything but the ID, and has none but these runs under their numbers: another clone's entry
    may have the same words.
    """
    book = examination.book
    for entry_id in book.entry_ids():
        found = readable(book.entry_path(entry_id))
        if found is None or old_id not in found.aliases or not _same_entry(found, entry):
            continue
        there = {n: run_at(book.run_folder(entry_id, n)) for n in runs}
        if all(run is None or same_run(run, runs[n]) for n, run in there.items()):
            return entry_id
    return None


def _same_entry(found: Entry, entry: Entry) -> bool:
    """Whether two entries are equal but for their IDs and their relations, which may have been renumbered."""
    bare: dict[str, Any] = {"id": "", "aliases": (), **dict.fromkeys(RELATIONS)}
    return dataclasses.replace(found, **bare) == dataclasses.replace(entry, **bare)


def same_run(one: Run, other: Run) -> bool:
    """Whether two records are equal in everything but the place they name."""
    return one == dataclasses.replace(other, entry=one.entry, run=one.run)


def renumbered(
    examination: Examination,
    entry: Entry,
    old_id: str,
    relations: Mapping[str, str],
    runs: Mapping[int, Run] = MappingProxyType({}),
) -> str:
    """Write `entry`, which has these runs, under the next free ID, or the one it has already; the ID."""
    book, workspace = examination.book, examination.workspace
    new_id = twin_of(examination, entry, old_id, runs)
    if new_id is None:
        new_id, warning = book.reserve_id(workspace.owner())
        if warning:
            workspace.warnings.append(warning)
        aliases = tuple(dict.fromkeys((*entry.aliases, old_id)))
        book.write_entry(related(dataclasses.replace(entry, id=new_id, aliases=aliases), relations))
    return new_id


def related(entry: Entry, relations: Mapping[str, str]) -> Entry:
    """An entry whose relations name the new IDs."""

    def new(target: str | None) -> str | None:
        return relations.get(target, target) if target is not None else None

    changes: dict[str, Any] = {name: new(getattr(entry, name)) for name in RELATIONS}
    return dataclasses.replace(entry, **changes)


def relate(examination: Examination, ids: Iterable[str], relations: Mapping[str, str]) -> list[str]:
    """Let the relations of these entries name the new IDs; the entries that were changed."""
    changed = []
    for entry_id in ids:
        path = examination.book.entry_path(entry_id)
        entry = readable(path)
        if entry is not None and (new := related(entry, relations)) != entry:
            examination.backup(path)
            examination.book.write_entry(new)
            changed.append(entry_id)
    return changed


def readdress(examination: Examination, folder: Path, entry_id: str, number: int) -> None:
    """Let the record in a run's folder say which entry and run it is."""
    path = folder / "run.json"
    if not os.path.lexists(path):
        return
    run = records.load_run(path)
    if (run.entry, run.run) != (entry_id, number):
        examination.backup(path)
        new = dataclasses.replace(run, entry=entry_id, run=number)
        records.write_run(path, new, durable=examination.book.durable)


def move_runs(examination: Examination, folder: Path, entry_id: str) -> str:
    """Give a folder of runs to an entry that has none; what was done."""
    new = examination.book.runs_folder / entry_id
    examination.rename(folder, new)
    for run in new.iterdir():
        if (number := run_number(run.name)) is not None:
            readdress(examination, run, entry_id, number)
    return f"moved to {entry_id}"


# -- records that may be damaged: other checks tell of those -----------------------------------------


def readable(path: Path) -> Entry | None:
    """The entry of a file, whatever the file is called; None when it cannot be read."""
    with contextlib.suppress(StoreError):
        return records.load_entry(path)
    return None


def entry_in(data: bytes | None, path: Path) -> Entry | None:
    """The entry of one side of a conflict."""
    with contextlib.suppress(StoreError):
        return None if data is None else records.entry_of(data, path)
    return None


def run_in(data: bytes | None, path: Path) -> Run | None:
    """The run of one side of a conflict."""
    with contextlib.suppress(StoreError):
        return None if data is None else records.run_of(data, path)
    return None


def run_at(folder: Path) -> Run | None:
    """The run whose record stands in this folder."""
    with contextlib.suppress(StoreError):
        return records.load_run(folder / "run.json")
    return None
