"""Names and IDs of entry files: copies, foreign and malformed IDs, names that are not the ID inside; aliases."""

from __future__ import annotations

import dataclasses
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from logbook_agent.doctor.finding import DOCTOR_FIX, Examination, Finding, Fix
from logbook_agent.doctor.renumber import readable, readdress, renumbered
from logbook_agent.model.entry import Entry
from logbook_agent.model.ids import format_id, id_number, run_number

_NUMBERED = re.compile(r"(?P<head>[A-Za-z][A-Za-z0-9-]*)-(?P<digits>[0-9]{1,9})")


def check_names(examination: Examination) -> Iterator[Finding]:
    """Files in entries/ whose name is not an ID of this logbook, or not the one inside."""
    book = examination.book
    if not book.entries_folder.is_dir():
        return
    for path in sorted(book.entries_folder.iterdir()):
        if path.name.startswith(".") or path in examination.reported:
            continue
        if path.suffix != ".yaml":
            yield _foreign(path, "it is not an entry: entries are named ID.yaml")
            continue
        entry = readable(path)
        named = id_number(path.stem, book.header.prefix) is not None
        if entry is not None and entry.id == path.stem and named:
            continue
        if entry is None:
            if not named:
                yield _foreign(path, f"its name is not an ID of {book.header.prefix}, and it cannot be read")
            continue
        examination.reported.add(path)
        yield _misnamed(examination, path, entry) if named else _stray(examination, path, entry)


def _foreign(path: Path, why: str) -> Finding:
    return Finding(check="entry-name", severity="warning", message=why, mend="move it out of entries/", path=path)


def _misnamed(examination: Examination, path: Path, entry: Entry) -> Finding:
    """The name is an ID, and another one stands inside."""
    book = examination.book
    taken = book.has_entry(entry.id) or (book.runs_folder / path.stem).is_dir()
    if taken or id_number(entry.id, book.header.prefix) is None:

        def correct() -> str:
            examination.backup(path)
            book.write_entry(dataclasses.replace(entry, id=path.stem))
            return f"its id is now {path.stem}"

        mend, fix = f"{DOCTOR_FIX} sets its id to {path.stem}", correct
    else:

        def move() -> str:
            examination.rename(path, book.entry_path(entry.id))
            return f"renamed to {entry.id}.yaml"

        mend, fix = f"{DOCTOR_FIX} renames it to {entry.id}.yaml", move
    return _wrong_name(path, f"it holds entry {entry.id}", mend, fix)


def _stray(examination: Examination, path: Path, entry: Entry) -> Finding:
    """The name is not an ID of this logbook."""
    book = examination.book
    own = id_number(entry.id, book.header.prefix) is not None
    if not own:
        return _malformed(examination, path, entry)
    if not book.has_entry(entry.id):

        def move() -> str:
            examination.rename(path, book.entry_path(entry.id))
            return f"renamed to {entry.id}.yaml"

        return _wrong_name(
            path, f"it holds {entry.id} under another name", f"{DOCTOR_FIX} renames it to {entry.id}.yaml", move
        )
    if readable(book.entry_path(entry.id)) == entry:

        def drop() -> str:
            examination.backup(path)
            examination.remove(path)
            return "removed, after a backup"

        return _wrong_name(path, f"a copy of {entry.id}, with the same words", f"{DOCTOR_FIX} removes it", drop)

    def renumber() -> str:
        with book.lock():
            examination.backup(path)
            new_id = renumbered(examination, entry, entry.id, {})
            examination.remove(path)
        return f"it is now {new_id}, with the alias {entry.id}"

    return _wrong_name(
        path, f"a second entry {entry.id}", f"{DOCTOR_FIX} gives it the next free ID; or delete it", renumber
    )


def _malformed(examination: Examination, path: Path, entry: Entry) -> Finding:
    """The ID inside is not one of this logbook either: written otherwise, or another logbook's."""
    book = examination.book
    match = _NUMBERED.fullmatch(path.stem)
    if match is None or match["head"].upper() != book.header.prefix:
        return Finding(
            check="entry-name",
            severity="error",
            message=f"{entry.id} is not an ID of this logbook ({book.header.prefix})",
            mend="move it, with its runs, to the logbook it belongs to",
            path=path,
        )
    right = format_id(book.header.prefix, int(match["digits"]))

    def fix() -> str:
        with book.lock():
            examination.backup(path)
            new_id = right
            # On a file system that ignores case, the file itself may answer to the right name.
            if book.has_entry(right) and not book.entry_path(right).samefile(path):
                new_id = renumbered(examination, dataclasses.replace(entry, id=right), right, {})
                examination.remove(path)
            else:
                rename_entry(examination, path, dataclasses.replace(entry, id=right))
            _take_runs(examination, path.stem, new_id)
        return f"it is now {new_id}"

    return _wrong_name(path, f"{path.stem} should be written {right}", f"{DOCTOR_FIX} gives it that name", fix)


def rename_entry(examination: Examination, path: Path, entry: Entry) -> None:
    """Give an entry file the name of its ID."""
    examination.book.write_entry(entry)
    if not examination.book.entry_path(entry.id).samefile(path):
        examination.remove(path)


def _take_runs(examination: Examination, old: str, new: str) -> None:
    folder = examination.book.runs_folder
    if (folder / old).is_dir() and not (folder / new).exists():
        examination.rename(folder / old, folder / new)
        for run in (folder / new).iterdir():
            if (number := run_number(run.name)) is not None:
                readdress(examination, run, new, number)


def _wrong_name(path: Path, message: str, mend: str, fix: Fix) -> Finding:
    return Finding(check="entry-name", severity="error", message=message, mend=mend, path=path, fix=fix)


def check_aliases(examination: Examination) -> Iterator[Finding]:
    """An old ID must lead to one entry. That it lives again in another entry is what renumbering leaves."""
    book = examination.book
    claims: dict[str, list[str]] = defaultdict(list)
    ids = book.entry_ids()
    for entry_id in ids:
        entry = readable(book.entry_path(entry_id))
        for alias in entry.aliases if entry is not None else ():
            claims[alias].append(entry_id)
    for alias, claimants in claims.items():
        if alias in ids:
            yield Finding(
                check="alias",
                severity="note",
                message=f"{alias} is an entry and the former ID of {', '.join(claimants)}; commands take the entry",
                items=(alias, *claimants),
            )
        elif len(claimants) > 1:
            yield Finding(
                check="alias",
                severity="warning",
                message=f"{alias} is the former ID of {' and '.join(claimants)}; commands take {claimants[0]}",
                mend=f"remove it from `aliases` in all but one of them: entries/{claimants[-1]}.yaml",
                items=(alias, *claimants),
                path=book.entry_path(claimants[-1]),
            )


def check_voids(examination: Examination) -> Iterator[Finding]:
    """IDs whose command died before it wrote an entry: a gap, and nothing to mend."""
    found = [void.id for void in examination.book.voids()]
    if found:
        shown = ", ".join(found[:6]) + (f" and {len(found) - 6} more" if len(found) > 6 else "")
        yield Finding(
            check="void",
            severity="note",
            message=f"{shown}: reserved by a command that died; not used again",
            items=tuple(found),
        )
