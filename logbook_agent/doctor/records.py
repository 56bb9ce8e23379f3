"""Records that cannot be read: not YAML or JSON, of another shape, or of another format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from logbook_agent.doctor.every_run import every_run
from logbook_agent.doctor.finding import Examination, Finding
from logbook_agent.model.errors import StoreError
from logbook_agent.store import records


def check_header(examination: Examination) -> Iterator[Finding]:
    path = examination.book.header_path
    try:
        records.read_header(path)
    except StoreError as error:
        yield unreadable(path, error, check="header")


def check_records(examination: Examination) -> Iterator[Finding]:
    """Entries and runs; what an earlier check has spoken of is left out."""
    book = examination.book
    for entry_id in book.entry_ids():
        path = book.entry_path(entry_id)
        if path in examination.reported:
            continue
        try:
            records.read_entry(path)
        except StoreError as error:
            yield unreadable(path, error, check="entry")
    for found in every_run(book):
        if isinstance(found.run, StoreError) and found.path not in examination.reported:
            yield unreadable(found.path, found.run, check="run")


def unreadable(path: Path, error: StoreError, *, check: str) -> Finding:
    """The finding of a record that cannot be read; one of another format has a check of its own."""
    if error.hint == "logbook migrate":
        check = "older-format"
    elif error.hint.startswith("upgrade"):
        check = "newer-format"
    return Finding(
        check=check,
        severity="error",
        message=error.message,
        mend=error.hint or error.cause,
        path=path,
        line=getattr(error, "line", None),
    )
