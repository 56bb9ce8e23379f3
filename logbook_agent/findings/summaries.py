"""The summary of an entry, which the index keeps: small plain data that stays the same as long as its files do. `list`,
`status` and the issue are made of summaries."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from logbook_agent.findings.attempts import finished, how_it_failed, items_of, keys_of
from logbook_agent.findings.cases import without_mended
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.comparison.answers import answer_of
from logbook_agent.findings.comparison.synopsis import synopsis
from logbook_agent.findings.measurements import counted_rows, measured, row_counts, unit_of
from logbook_agent.findings.thread import said_by
from logbook_agent.findings.trust import trust_of
from logbook_agent.model.codec import encode
from logbook_agent.model.entry import settled
from logbook_agent.model.gates import REPORTED, fails
from logbook_agent.model.header import Header, Metric, metric_named
from logbook_agent.model.record import WARM_UP, Record, record_digest
from logbook_agent.model.run import Measurement
from logbook_agent.model.stats import median
from logbook_agent.model.summary import EntryLine, Summary
from logbook_agent.model.units import common, with_unit
from logbook_agent.text.markdown import cut_line, lead, one_line
from logbook_agent.text.phrases import counted

# No answer shows more of a text than this.
TEXT_CHARS = 600
# Of a run whose worker is nowhere, while nobody has closed its record.
LOST = "lost: logbook doctor looks for its worker"


def summary_of(record: Record, header: Header) -> Summary:
    """The summary of an entry: its line of `list`, and what `status` and the body of an issue need beyond it."""
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
        "next_at": entry.next_at,
        "settled": settled(record.state),
        "stated": {"stated": entry.confidence, "stated_reason": entry.confidence_reason},
        "name": entry.name,
        "comparison": encode(answer) if (answer := answer_of(record, header.metrics)) is not None else None,
        "tried": items_of(without_mended(record)),
        "finished": finished(record),
        "keys": keys_of(record),
        "rows": rows,
        "failed_rows": failed_rows,
        "measured": measured(record, header),
        "digest": record_digest(record),
    }


def _lead(text: str | None) -> str | None:
    """The first paragraph of a text, on one line."""
    return _text(lead(text)) if text else None


def _text(text: str | None) -> str | None:
    """A text on one line, at most TEXT_CHARS of it; what was cut ends in `…`."""
    if not text:
        return None
    line = one_line(text)
    if len(line) <= TEXT_CHARS:
        return line
    from logbook_agent.text import fit  # takes a parser of Markdown along, which few entries need

    # Behind a word, what would open a fence is text.
    cut: str = fit.shorten(f"x {line[: 2 * TEXT_CHARS]}", fit.size(line[: TEXT_CHARS - 1])).text
    return cut.removeprefix("x ") + "…"


_TEXT_CHARS = 120


def line_of(record: Record, header: Header, answer: Answer | None = None) -> EntryLine:
    """The line of `list` about an entry, and the answer to its comparison."""
    trust = trust_of(record.entry, len(record.runs), answer)
    return {
        "id": record.id,
        "opened": record.entry.opened,
        "kind": record.entry.kind,
        "state": record.state,
        "confidence": trust.word if trust is not None else None,
        "confidence_text": trust.text if trust is not None else None,
        "title": record.entry.title,
        "runs": len(record.runs),
        "result": synopsis(answer) if answer is not None and answer.findings else headline(record, header),
    }


def headline(record: Record, header: Header) -> str | None:
    """The result in a few words: the range of the first metric over the rows, or how it failed."""
    rows = counted_rows(record)
    names = dict.fromkeys([*(m.name for m in header.metrics), *(n for r in rows for n in r.metrics)])
    # What a row that failed says of itself is no result.
    for reason, name in itertools.product((None, REPORTED), names):
        own = [r for r in rows if (r.failed.reason if r.failed is not None else None) == reason]
        good = [m for r in own if (m := r.metrics.get(name)) is not None and m.samples]
        if good:
            span = _span(good, metric_named(name, header.metrics))
            return f"{counted(len(rows), 'row')}, {name} {span}" + (f" ({reason})" if reason else "")
    if record.runs and (rows or not record.runs[-1].run.is_reported):
        last = record.runs[-1]
        if last.state == "finished" and not last.counts:
            return "only warm-ups" if last.discarded_as == WARM_UP else "no run counts"
        if last.state == "finished" and (failure := fails(last.run)) is not None:
            return cut_line(str(failure), _TEXT_CHARS)
        if last.state == "finished":
            return f"{counted(len(rows), 'row')} without a metric" if rows else "finished, no result lines"
        reasons = dict.fromkeys(row.failed.reason for row in last.run.rows if row.failed is not None)
        if reasons:
            return f"{last.state}: {' / '.join(reasons)}"
        if last.state == "lost" and last.run.exit is None:
            return LOST
        if last.state in ("timeout", "stalled"):
            return f"{last.state}: {cut_line(how_it_failed(last.run), _TEXT_CHARS)}"
        said = last.run.last_words
        return f"{last.state}" + (f": {cut_line(said, _TEXT_CHARS)}" if said else "")
    return cut_line(record.entry.text("Result") or "", _TEXT_CHARS) or None


def _span(good: Sequence[Measurement], metric: Metric) -> str:
    """`0.4 .. 0.6 s`: the range of values in the declared unit, else of those of each unit."""
    of: dict[str | None, list[float]] = {}
    kept = common({m.unit for m in good}, unit_of(metric))
    unit = next((m.unit for m in good if m.unit in kept and m.unit is not None), None)
    for m in good:
        if m.unit in kept or not kept:
            of.setdefault(unit if kept else m.unit, []).append(median(m.samples))
    spans = []
    for name, values in of.items():
        (low, high), shown = with_unit((min(values), max(values)), name, metric.name)
        spans.append((low if low == high else f"{low} .. {high}") + (f" {shown}" if shown else ""))
    return " and ".join(spans)
