"""Names and IDs of entry files: copies, foreign and malformed IDs, names that are not the ID inside; aliases."""

from __future__ import annotations

import dataclasses
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from logbook_agent.doctor.examination import DOCTOR_FIX, Examination
from logbook_agent.doctor.renumber import readable, renumbered
from logbook_agent.model.entry import Entry, format_id, id_number
from logbook_agent.store.trouble import Fix, Trouble
from logbook_agent.text.phrases import listed

_NUMBERED = re.compile(r"(?P<head>[A-Za-z][A-Za-z0-9-]*)-(?P<digits>[0-9]{1,9})")


def check_names(examination: Examination) -> Iterator[Trouble]:
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


def _foreign(path: Path, why: str) -> Trouble:
    return Trouble("warning", "entry-name", path, why, "move it out of entries/")


def _misnamed(examination: Examination, path: Path, entry: Entry) -> Trouble:
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
        mend, fix = _moving(examination, path, entry)
    return _wrong_name(path, f"it holds entry {entry.id}", mend, fix)


def _moving(examination: Examination, path: Path, entry: Entry) -> tuple[str, Fix]:
    """The mend of an entry whose file should be called after the ID inside."""

    def move() -> str:
        examination.rename(path, examination.book.entry_path(entry.id))
        return f"renamed to {entry.id}.yaml"

    return f"{DOCTOR_FIX} renames it to {entry.id}.yaml", move


def _stray(examination: Examination, path: Path, entry: Entry) -> Trouble:
    """The name is not an ID of this logbook."""
    book = examination.book
    own = id_number(entry.id, book.header.prefix) is not None
    if not own:
        return _malformed(examination, path, entry)
    if not book.has_entry(entry.id):
        return _wrong_name(path, f"it holds {entry.id} under another name", *_moving(examination, path, entry))
    if readable(book.entry_path(entry.id)) == entry:

        def drop() -> str:
            examination.backup(path)
            return f"{examination.remove(path)}, after a backup"

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


def _malformed(examination: Examination, path: Path, entry: Entry) -> Trouble:
    """The ID inside is not one of this logbook either: written otherwise, or another logbook's."""
    prefix = examination.book.header.prefix
    match = _NUMBERED.fullmatch(path.stem)
    if match is None or match["head"].upper() != prefix:
        message = f"{entry.id} is not an ID of this logbook ({prefix})"
        return Trouble("error", "entry-name", path, message, "move it, with its runs, to the logbook it belongs to")
    right = format_id(prefix, int(match["digits"]))
    mend = f"write `id: {right}` in it, then: {DOCTOR_FIX}"
    return Trouble("error", "entry-name", path, f"{path.stem} should be written {right}", mend)


def _wrong_name(path: Path, message: str, mend: str, fix: Fix) -> Trouble:
    return Trouble("error", "entry-name", path, message, mend, fix)


def check_aliases(examination: Examination) -> Iterator[Trouble]:
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
            message = f"{alias} is an entry and the former ID of {', '.join(claimants)}; commands take the entry"
            yield Trouble("note", "alias", None, message, items=(alias, *claimants))
        elif len(claimants) > 1:
            message = f"{alias} is the former ID of {' and '.join(claimants)}; commands take {claimants[0]}"
            mend = f"remove it from `aliases` in all but one of them: entries/{claimants[-1]}.yaml"
            path = book.entry_path(claimants[-1])
            yield Trouble("warning", "alias", path, message, mend, items=(alias, *claimants))


def check_voids(examination: Examination) -> Iterator[Trouble]:
    """IDs whose command died before it wrote an entry: a gap, and nothing to mend."""
    found = [void.id for void in examination.book.voids()]
    if found:
        said = f"{listed(found, 6)}: reserved by a command that died; not used again"
        yield Trouble("note", "void", None, said, items=tuple(found))
