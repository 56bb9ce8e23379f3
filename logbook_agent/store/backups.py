"""Files as they were, before something mends or replaces them."""

from __future__ import annotations

import os
from pathlib import Path

from logbook_agent.store.book import Book
from logbook_agent.store.files import copy, make_folder


def backup(book: Book, stamp: str, path: Path) -> Path:
    """Keep a file of the logbook as it is, once for each `stamp`; where it is kept."""
    kept = book.folder / "backups" / f"doctor-{stamp}" / path.relative_to(book.folder)
    make_folder(kept.parent, within=book.root)
    if not os.path.lexists(kept):
        copy(path, kept, within=book.root)
    return kept
