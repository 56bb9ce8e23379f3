"""Records that cannot be read: not YAML or JSON, of another shape, or of another format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from logbook_agent.doctor.examination import Examination
from logbook_agent.model.entry import RELATIONS, Entry, id_number
from logbook_agent.model.errors import LogbookError, StoreError
from logbook_agent.model.run import Run
from logbook_agent.store import records
from logbook_agent.store.book import Book
from logbook_agent.store.trouble import Trouble


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRuns:
    """A record; `run` is the error of one that cannot be read."""

    entry: str
    number: int
    path: Path
    run: Run | LogbookError


def every_run(book: Book) -> Iterator[FoundRuns]:
    """All records, by the names of their folders."""
    for whole_name in names(book, book.runs_folder):
        entry = book.names.id_of(whole_name)
        if book.entry_runs_folder(entry).name != whole_name:
            continue  # (another check tells)
        for number, run in book.each_run(entry):
            path = book.run_folder(entry, number) / "run.json"
            yield FoundRuns(entry=entry, number=number, path=path, run=run)


def names(book: Book, folder: Path) -> list[str]:
    """The names in a folder of the logbook in order; none where there is none, or a link in its place."""
    try:
        return sorted(book.files.names(folder))
    except StoreError:
        return []


def check_header(examination: Examination) -> Iterator[Trouble]:
    path = examination.book.header_path
    try:
        records.read_header(examination.book.files, path)
    except StoreError as error:
        yield unreadable(path, error, check="header")


def check_records(examination: Examination) -> Iterator[Trouble]:
    """Entries and runs; what an earlier check has spoken of is left out."""
    book = examination.book
    for entry_id in book.entry_ids():
        path = book.entry_path(entry_id)
        if path in examination.reported:
            continue
        try:
            entry = book.entry(entry_id)
        except StoreError as error:
            yield unreadable(path, error, check="entry")
            continue
        for name in RELATIONS:
            yield from _backwards(examination, entry, name)
    for found in every_run(book):
        if isinstance(found.run, StoreError) and found.path not in examination.reported:
            yield unreadable(found.path, found.run, check="run")


def _backwards(examination: Examination, entry: Entry, name: str) -> Iterator[Trouble]:
    """A relation to a later entry, which commands refuse: no reader looks for it among the earlier ones."""
    book, target = examination.book, getattr(entry, name)
    own, other = (id_number(i or "", book.header.prefix) for i in (entry.id, target))
    if own is None or other is None or other < own or not book.has_entry(target):
        return
    message = f"{entry.id} {name} {target}, which is no earlier entry"
    mend = f"logbook edit {entry.id} --{name} '' takes it back"
    if name == "decides":
        mend = f"logbook edit {entry.id} --state void takes it back"
    yield Trouble("warning", "relation", book.entry_path(entry.id), message, mend)


def unreadable(path: Path, error: StoreError, *, check: str) -> Trouble:
    """The finding of a record that cannot be read; one of a newer format has a check of its own."""
    if error.hint.startswith("upgrade"):
        check = "newer-format"
    return Trouble("error", check, path, error.message, error.hint or error.cause, line=getattr(error, "line", None))
