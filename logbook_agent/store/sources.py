"""From which files each block of the view follows, as digests: a block whose files have another one is out of date."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from logbook_agent.model.errors import StoreError
from logbook_agent.store.book import Book
from logbook_agent.store.layout import HEADER, PROSE_BYTES
from logbook_agent.text.marked import digest


def sources_of(book: Book) -> dict[str, str]:
    """The digests for the header and each entry. Of a run, which no person edits, its number and size count; what
    cannot be read counts as empty."""
    found = {}
    for entry_id in book.names.ids:
        runs = sorted(_runs(f"{book.entry_runs_folder(entry_id)}"))
        found[entry_id] = digest(_content(book, book.entry_path(entry_id)) + repr(runs).encode())
    found[HEADER] = digest(_content(book, book.header_path))
    return found


def _content(book: Book, path: Path) -> bytes:
    try:
        return book.files.read(path, limit=PROSE_BYTES)
    except StoreError:
        return b""


def _runs(folder: str) -> Iterator[tuple[str, int]]:
    """The name and size of each run below a folder; none where it is missing."""
    try:
        names = os.listdir(folder)  # noqa: PTH208
    except OSError:
        return
    for name in names:
        try:
            yield name, os.lstat(f"{folder}/{name}/run.json").st_size
        except OSError:
            continue
