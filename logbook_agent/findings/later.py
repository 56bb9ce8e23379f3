"""What later entries say of an earlier one."""

from __future__ import annotations

from collections.abc import Sequence

from logbook_agent.findings.standing import claim_of, standing_of
from logbook_agent.model.entry import Entry
from logbook_agent.model.errors import StoreError
from logbook_agent.store.book import Book


def later_entries(
    book: Book, entry_id: str, order: Sequence[str], mentions: Sequence[Entry] | None = None
) -> dict[str, list[str]]:
    """Entries that complete or supersede this one; `mentions` as of `mentioning`, where it was asked already."""
    later = mentioning(book, entry_id, order) if mentions is None else mentions
    return standing_of(entry_id, "noted", map(claim_of, later)).later


def mentioning(book: Book, entry_id: str, order: Sequence[str]) -> list[Entry]:
    """Entries that may say something of this one, or of its rows. Only later files are read, so that a new entry
    costs nothing; but one that was renumbered may be older than those that its new number comes after."""
    after: Sequence[str] = order[order.index(entry_id) + 1 :] if entry_id in order else ()
    if len(after) < len(order) - 1 and book.has_entry(entry_id) and book.entry(entry_id).aliases:
        after = [i for i in order if i != entry_id]
    found = []
    for later in after:
        try:
            text = book.entry_text(later)
            if entry_id in text and any(f"\n{key}:" in text for key in ("supersedes", "completes", "comparisons")):
                found.append(book.entry(later))
        except StoreError:
            continue  # reported where that entry itself is read
    return found
