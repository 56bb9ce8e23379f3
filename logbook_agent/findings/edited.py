"""What people changed in the view by hand."""

from __future__ import annotations

from logbook_agent.store.book import Book
from logbook_agent.text import marked as views


def edited_blocks(book: Book) -> list[str]:
    """Names of the blocks that were edited by hand."""
    text = book.read_view()
    if text is None or views.has_conflict(text):
        return []
    return [block.name for block in views.parse(text, []).values() if block.edited(text)]
