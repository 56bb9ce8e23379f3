"""What `list`, `status` and the issue need of an entry: plain data, small, and the same as long as its files are."""

from __future__ import annotations

from typing import Any

from logbook_agent.findings.attempts import finished, items_of, keys_of
from logbook_agent.findings.comparison.pairs import tried
from logbook_agent.findings.entry_line import line_of
from logbook_agent.findings.history import histories
from logbook_agent.findings.measurements import measured, row_counts
from logbook_agent.findings.thread import said_by
from logbook_agent.model.entry import settled
from logbook_agent.model.header import Header
from logbook_agent.model.record import Record, digest, record_digest
from logbook_agent.text.markdown import lead, one_line

# No answer shows more of a text than this.
TEXT_CHARS = 600


def summary_of(record: Record, header: Header) -> dict[str, Any]:
    """The line of `list`, what `status` says beyond it, and what the body of an issue does."""
    entry = record.entry
    rows, failed_rows = row_counts(record)
    said = said_by(entry)
    return {
        **said,
        **line_of(record, header),
        "decision": None if said["decision"] is None else _lead(said["decision"]) or "",
        "negative": _lead(said["negative"]),
        "interpretation": _text(entry.text("Interpretation")),
        "next": _text(record.next_action),
        "next_lead": _lead(record.next_action),
        "settled": settled(record.state),
        "confidence_stated": entry.confidence is not None,
        "mark": digest(entry.opened)[:4],
        "comparison": tried(record),
        "contrasts": [contrast.axis for contrast in entry.contrasts],
        "tried": items_of(record),
        "finished": finished(record),
        "keys": keys_of(record),
        "rows": rows,
        "failed_rows": failed_rows,
        "measured": measured(record, header),
        "history": histories(record, header),
        "predicted": sum(len(s.run.predictions) for s in record.runs if s.counts),
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
