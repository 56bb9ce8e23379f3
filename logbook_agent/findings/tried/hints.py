"""The hints by which a command that was tried before is found without reading the store."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from logbook_agent.findings.tried.keys import keys_of
from logbook_agent.model.errors import LogbookError
from logbook_agent.model.record import Record
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace

# Entries that were never looked at: more of them than this are left to `list` and its like.
_LOOKED_AT = 100


def remember(book: Book, seen: Iterable[tuple[Record, bool]], *, entries: int, folder_ns: int) -> None:
    """Keep under which commands these entries are found; one that was not run is found under none. Each comes with
    whether its record has all runs, not only the last ones. `entries` there are,
    and their folder was changed at `folder_ns` before they were counted."""
    keys = {}
    for record, is_whole in seen:
        if not is_whole:
            # Those of the first runs were kept with what is said of them, and their entry is marked as it was then.
            further = keys_of(dataclasses.replace(record, entry=dataclasses.replace(record.entry, commands=())))
            if book.tried.add(record.id, further):
                continue
            record = book.record(record.id)
        if found := keys_of(record):
            keys[record.id] = found
    if keys:
        book.tried.keep(keys, entries=entries, folder_ns=folder_ns)


def is_indexed(workspace: Workspace, book: Book) -> bool:
    """Whether every entry can be found by its commands, after a look at the few that are new."""
    hints = book.tried
    folder_ns = book.entries_changed_ns()
    if hints.is_complete(folder_ns):
        return True
    names = book.entry_names()
    unseen, gone = hints.unseen(names)
    if gone:
        hints.forget(gone)
    if len(unseen) > _LOOKED_AT:
        workspace.warnings.append(
            f"did not check whether this was tried before: {len(unseen):,} entries are not indexed here yet;"
            " logbook list indexes them"
        )
        return False
    hints.keep({i: _keys(book, i) for i in sorted(unseen)}, entries=len(names), folder_ns=folder_ns)
    return True


def _keys(book: Book, entry_id: str) -> list[tuple[str, int]]:
    record = readable_record(book, entry_id)
    return keys_of(record) if record is not None else []


def readable_record(book: Book, entry_id: str) -> Record | None:
    try:
        return book.record(entry_id)
    except LogbookError:
        return None  # its damage is told where it is shown
