"""The table of formats that `logbook import` reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from logbook_agent.imports import delimited, jsonl, markdown
from logbook_agent.imports.document import (
    Document,
    Named,
    ReportedEntry,
    ReportedTable,
    SourceSpan,
    lines_of,
    partition,
)
from logbook_agent.imports.order import oddities
from logbook_agent.model.header import Metric

# Of a source with more entries, so many rows are one.
_MOST_ENTRIES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFormat:
    """`parse` makes a document of lines; `fits` looks at those of a file whose name ends in none of the `endings`."""

    parse: Callable[[Sequence[str], Sequence[str], Mapping[str, Metric]], Document]
    fits: Callable[[Sequence[str]], bool]
    endings: tuple[str, ...]


# In the order in which they are tried.
FORMATS = {
    "jsonl": LogFormat(parse=jsonl.parse, fits=jsonl.is_jsonl, endings=(".jsonl", ".ndjson")),
    "markdown": LogFormat(parse=markdown.parse, fits=markdown.is_markdown, endings=(".md", ".markdown", ".mdx")),
    "tsv": LogFormat(parse=delimited.parse, fits=delimited.is_table, endings=(".tsv", ".tab")),
    "csv": LogFormat(parse=delimited.parse, fits=delimited.is_table, endings=(".csv",)),
}


def format_of(name: str, text: str) -> str:
    """The format of a file by its name, else by its text; text without any form is Markdown."""
    by_name = next((key for key, one in FORMATS.items() if name.lower().endswith(one.endings)), None)
    return by_name or next((key for key, one in FORMATS.items() if one.fits(lines_of(text))), "markdown")


def document_of(form: str, text: str, columns: Sequence[str] = (), *, declared: Mapping[str, Metric]) -> Document:
    """A text as a document, with what is odd in it named."""
    lines = lines_of(text)
    found = FORMATS[form].parse(lines, columns, declared)
    named, spans = {*found.named, *oddities(found.spans)}, found.spans
    if form != "markdown" and len(spans) > _MOST_ENTRIES:
        named.add(Named(spans[0].first, f"{len(spans):,} rows: {_MOST_ENTRIES:,} of them are one entry"))
        spans = tuple(_joined(spans[at : at + _MOST_ENTRIES]) for at in range(0, len(spans), _MOST_ENTRIES))
    ordered = tuple(sorted(named, key=lambda one: (one.line, one.text)))
    return replace(found, spans=partition(spans, len(lines)), named=ordered)


def _joined(spans: Sequence[SourceSpan]) -> SourceSpan:
    first, last = spans[0].first, spans[-1].last
    rows = tuple(row for span in spans if span.entry is not None for row in span.entry.rows)
    title = f"Rows of lines {first} to {last}"
    return SourceSpan(first=first, last=last, entry=ReportedEntry(title=title, tables=(ReportedTable(rows=rows),)))
