"""Changes of a logbook's header after it was started."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import nullcontext

from logbook_agent.model.header import Header
from logbook_agent.pages.views import changing
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.markdown import clean


def change_header(workspace: Workspace, book: Book, change: Callable[[Header], Header], *, seen: bool = True) -> Header:
    """Rewrite the header, starting from what is on disk now. `seen`: the view shows it."""
    with changing(workspace, book) if seen else nullcontext(), book.lock():
        before = book.reread_header()
        header = workspace.redacted_header(change(before))
        if header == before:
            return before
        return book.write_header(header)


def summarise(workspace: Workspace, book: Book, text: str) -> Header:
    """Set the summary of the thread; an empty text removes it."""
    return change_header(workspace, book, lambda h: dataclasses.replace(h, summary=clean(text) or None))
