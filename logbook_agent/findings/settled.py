"""The settled claims of a logbook."""

from __future__ import annotations

import contextlib

from logbook_agent.findings.claims import Claim, claims_of, strongest
from logbook_agent.findings.thread import Thread
from logbook_agent.model.errors import LogbookError
from logbook_agent.store.book import Book


def settled_claims(book: Book, thread: Thread) -> list[Claim]:
    """Of entries that count. What an entry says of its own rows the index keeps; a comparison with the rows of others
    is made anew, for these may have changed."""
    found: list[Claim] = []
    for summary in thread.counted:
        found += summary["claims"]
        if summary["compared_with"]:
            with contextlib.suppress(LogbookError):  # its own page says that it cannot be answered
                found += _with_others(book, summary["id"])
    return strongest(found)


def _with_others(book: Book, entry_id: str) -> list[Claim]:
    # Tables and statistics, which few threads need here.
    from logbook_agent.findings.comparisons.compare import compare

    entry = book.entry(entry_id)
    own = {entry.id, *entry.aliases}
    asked = [comparison for comparison in entry.comparisons if not {*comparison.entries} <= own]
    return claims_of(entry_id, [answer for one in asked for answer in compare(book, one).answers])
