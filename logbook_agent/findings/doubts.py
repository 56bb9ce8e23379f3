"""What rests on an entry that somebody took back."""

from __future__ import annotations

from logbook_agent.model.errors import NotFound
from logbook_agent.store.book import Book


def baseline_doubts(book: Book) -> list[str]:
    """That the baseline was measured by an entry that does not stand any more; nothing where it does."""
    baseline = book.header.baseline
    if baseline is None or baseline.entry is None:
        return []
    try:
        state: str | None = book.entry(baseline.entry).state
    except NotFound:
        state = "no longer there"
    if state is None or state in ("planned", "blocked"):
        return []
    return [f"the baseline is {baseline.entry}, which is {state}: logbook baseline --entry ID --reason '...' moves it"]
