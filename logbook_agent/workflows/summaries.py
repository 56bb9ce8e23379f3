"""What `list` and `status` need of an entry: plain data, small, and the same as long as its files are."""

from __future__ import annotations

from typing import Any

from logbook_agent.markdown.text import one_line
from logbook_agent.model.header import Header, Metric
from logbook_agent.model.record import Record
from logbook_agent.stats import median
from logbook_agent.store.book import Book, Summaries
from logbook_agent.workflows.reading import line_of

# No answer shows more of a text than this.
TEXT_CHARS = 600


def summaries(book: Book) -> Summaries:
    """A summary of every entry, from the index where it can be."""
    header = book.header
    return book.summaries(lambda record: summary_of(record, header))


def summary_of(record: Record, header: Header) -> dict[str, Any]:
    """The line of `list`, and what `status` says beyond it."""
    entry = record.entry
    return {
        **line_of(record, header),
        "interpretation": _text(entry.text("Interpretation")),
        "next": _text(record.next_action),
        "takes_up": [t for t in (entry.continues, entry.completes, entry.supersedes) if t is not None],
        "best": {m.name: best for m in header.metrics if (best := _best(record, m)) is not None},
    }


def _best(record: Record, metric: Metric) -> dict[str, Any] | None:
    """The best row of an entry for a primary metric whose direction is known, and among how many it is."""
    if not metric.primary or metric.direction is None or record.state == "void":
        return None
    rows = [
        (median(row.metrics[metric.name].samples), status.run, row)
        for status in record.runs
        for row in status.run.rows
        if metric.name in row.metrics
    ]
    if not rows:
        return None
    value, run, row = (max if metric.direction == "max" else min)(rows, key=lambda r: r[0])
    return {
        "value": value,
        "unit": row.metrics[metric.name].unit,
        "run": run.run,
        "label": run.label,
        "config": _text(" ".join(f"{k}={v}" for k, v in row.config.items())),
        "rows": len(rows),
    }


def _text(text: str | None) -> str | None:
    return one_line(text)[:TEXT_CHARS] if text else None
