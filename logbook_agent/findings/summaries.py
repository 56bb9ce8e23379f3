"""What `list`, `status` and the issue need of an entry: plain data, small, and the same as long as its files are."""

from __future__ import annotations

from typing import Any

from logbook_agent.findings.claims import claims_of
from logbook_agent.findings.measured import measured, row_counts
from logbook_agent.findings.reading import line_of
from logbook_agent.findings.tried.keys import finished, items_of, keys_of
from logbook_agent.findings.trust import own_answers
from logbook_agent.model.digest import digest, record_digest
from logbook_agent.model.entry import DECISION, NEGATIVE_RESULT, settled
from logbook_agent.model.header import Header
from logbook_agent.model.record import Record
from logbook_agent.store.book import Book, Summaries
from logbook_agent.text.markdown import lead, one_line

# No answer shows more of a text than this.
TEXT_CHARS = 600
# Of what is stored: a new number whenever `summary_of` says something else of the same entry.
FORM = 14


def summaries(book: Book) -> Summaries:
    """A summary of every entry, from the index where it can be."""
    header = book.header
    return book.summaries(lambda record: summary_of(record, header), form=FORM)


def summary_of(record: Record, header: Header) -> dict[str, Any]:
    """The line of `list`, what `status` says beyond it, and what the body of an issue does.

    `decision` is None for what is none, and empty for one whose title says it all.
    """
    entry = record.entry
    rows, failed_rows = row_counts(record)
    answered = own_answers(record, header.metrics)
    return {
        **line_of(record, header, answered),
        "interpretation": _text(entry.text("Interpretation")),
        "next": _text(record.next_action),
        "next_lead": _lead(record.next_action),
        "continues": entry.continues,
        "settled": settled(record.state),
        "mark": digest(entry.opened)[:4],
        "aliases": list(entry.aliases),
        "compared_with": [i for c in entry.comparisons for i in c.entries if i != entry.id],
        "completes": entry.completes,
        "supersedes": entry.supersedes,
        "decision": _lead(entry.text(DECISION)) or "" if entry.kind == "decision" else None,
        "negative": _lead(entry.text(NEGATIVE_RESULT)),
        "comparisons": len(entry.comparisons),
        "claims": claims_of(record.id, (answer for one in answered for answer in one.answers)),
        "tried": items_of(record),
        "finished": finished(record),
        "keys": keys_of(record),
        "rows": rows,
        "failed_rows": failed_rows,
        "measured": measured(record, header),
        "digest": record_digest(record),
    }


def _lead(text: str | None) -> str | None:
    """What a list of the issue says of a text: whole texts stand with their entries."""
    return _text(lead(text)) if text else None


def _text(text: str | None) -> str | None:
    """A text on one line, as much of it as is ever shown; what was cut ends in `…`."""
    if not text:
        return None
    line = one_line(text)
    if len(line) <= TEXT_CHARS:
        return line
    from logbook_agent.text import fit  # takes a parser of Markdown along, which few entries need

    # Behind a word, what would open a fence is text.
    cut: str = fit.shorten(f"x {line[: 2 * TEXT_CHARS]}", fit.size(line[: TEXT_CHARS - 1])).text
    return cut.removeprefix("x ") + "…"
