"""The settled claims of a logbook."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Sequence

from logbook_agent.findings.claims import Claim, claims_of, strongest
from logbook_agent.findings.thread import Summary, Thread
from logbook_agent.model.codec import encode
from logbook_agent.model.digest import digest
from logbook_agent.model.errors import LogbookError
from logbook_agent.model.version import __version__
from logbook_agent.store.book import Book

# Of what is kept: a new number whenever the same records give something else.
FORM = 1


def settled_claims(book: Book, thread: Thread) -> list[Claim]:
    """Of entries that count, where everything that they are compared with counts, too. What an entry says of its own
    rows stands in its summary; a comparison with the rows of others is kept in the index until one of them changes."""
    by_name = {name: s for s in thread.summaries for name in (s["id"], *s["aliases"])}
    counted = {name for s in thread.counted for name in (s["id"], *s["aliases"])}
    found: list[Claim] = []
    for summary in thread.counted:
        found += summary["claims"]
        others = [by_name[name] for name in summary["compared_with"] if name in by_name]
        if others:
            with contextlib.suppress(LogbookError):  # its own page says that it cannot be answered
                found += _with_others(book, summary, others, counted)
    return strongest(found)


def _with_others(book: Book, summary: Summary, others: Sequence[Summary], counted: Collection[str]) -> list[Claim]:
    """What the comparisons of an entry with others settle, as it was found before or anew."""
    rests_on = [[s["id"], s["digest"], s["id"] in counted] for s in (summary, *others)]
    key = digest([__version__, FORM, encode(book.header.metrics), rests_on])
    place = f"claims of {summary['id']}"
    kept = book.said.get(place, key)
    if kept is not None:
        with contextlib.suppress(ValueError):
            claims: list[Claim] = json.loads(kept)
            return claims
    claims = _found(book, summary["id"], counted)
    book.said.put(place, key, json.dumps(claims))
    return claims


def _found(book: Book, entry_id: str, counted: Collection[str]) -> list[Claim]:
    # Tables and statistics, which few threads need here.
    from logbook_agent.findings.comparisons.compare import compare

    entry = book.entry(entry_id)
    own = {entry.id, *entry.aliases}
    asked = [c for c in entry.comparisons if not {*c.entries} <= own and {*c.entries} <= {*counted}]
    return claims_of(entry_id, [answer for one in asked for answer in compare(book, one).answers])
