"""Changes of a logbook's header after it was started."""

from __future__ import annotations

import dataclasses

from logbook_agent.model.header import Header
from logbook_agent.pages.views import changing
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.markdown import clean


def summarise(workspace: Workspace, book: Book, text: str) -> Header:
    """Set the summary of the thread; an empty text removes it."""
    with changing(workspace, book):
        return book.change_header(lambda h: dataclasses.replace(h, summary=clean(text) or None))
