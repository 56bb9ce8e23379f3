"""The table of formats that `logbook import` reads, and what is odd in a document of any of them: doubled or disordered
numbers, and units that change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

from msgspec import Struct, structs

from logbook_agent.imports import delimited, jsonl, markdown
from logbook_agent.imports.document import Document, Named, ReportedEntry, SourceSpan, joined, lines_of, partition
from logbook_agent.model.header import Metric

_T = TypeVar("_T", int, str)
# A unit changes a number by 1,000 or 1,024 at least.
_OTHER_SIZE = 300
# Of a source with more entries, so many rows are one.
_MOST_ENTRIES = 1000


class LogFormat(Struct, frozen=True, kw_only=True):
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
    named, spans = {*found.named, *_oddities(found.spans)}, found.spans
    if form != "markdown" and len(spans) > _MOST_ENTRIES:
        named.add(Named(spans[0].first, f"{len(spans):,} rows: {_MOST_ENTRIES:,} of them are one entry"))
        spans = tuple(joined(spans[at : at + _MOST_ENTRIES]) for at in range(0, len(spans), _MOST_ENTRIES))
    ordered = tuple(sorted(named, key=lambda one: (one.line, one.text)))
    return structs.replace(found, spans=partition(spans, len(lines)), named=ordered)


# -- what is odd ---------------------------------------------------------------------------------------------


def _oddities(spans: Sequence[SourceSpan]) -> Iterator[Named]:
    """What a reader of these entries must know."""
    entries = [(span.first, span.entry) for span in spans if span.entry is not None]
    yield from (Named(line, problem) for line, entry in entries for problem in entry.problems)
    numbers = [(entry.number, line) for line, entry in entries if entry.number is not None]
    yield from _doubled(numbers)
    yield from _doubled([(entry.name, line) for line, entry in entries if entry.heading and entry.name])
    yield from _disordered(numbers)
    yield from _disordered([(entry.opened, line) for line, entry in entries if entry.opened])
    yield from _units(entries)


def _doubled(values: Sequence[tuple[_T, int]]) -> Iterator[Named]:
    """The values that several lines have."""
    lines: dict[_T, list[int]] = {}
    for value, line in values:
        lines.setdefault(value, []).append(line)
    yield from (Named(of[1], f"{value} stands on line {of[0]}, too") for value, of in lines.items() if len(of) > 1)


def _disordered(values: Sequence[tuple[_T, int]]) -> list[Named]:
    """The first value that is out of order. What begins with the newest is in order."""
    is_down = is_newest_first([value for value, _ in values])
    wrong = [(a, b, line) for (a, _), (b, line) in pairwise(values) if (b > a if is_down else b < a)]
    return [Named(line, f"{b} comes after {a}: the source is not in order") for a, b, line in wrong[:1]]


def is_newest_first(values: Sequence[_T]) -> bool:
    """Whether most of the values are smaller than the one before."""
    steps = Counter((b > a) - (b < a) for a, b in pairwise(values))
    return steps[-1] > steps[1]


def _units(entries: Sequence[tuple[int, ReportedEntry]]) -> Iterator[Named]:
    """Where the unit of a metric changes, or its values become hundreds of times larger or smaller, for good."""
    found: dict[str, list[tuple[int, str | None, float]]] = {}
    for line, entry in entries:
        for row in entry.rows:
            for name, m in row.metrics.items():
                found.setdefault(name, []).append((line, m.unit, abs(m.samples[0])))
    for name, values in found.items():
        units = [(unit, line) for line, unit, _ in values if unit is not None]
        changed = next(((a, b, line) for (a, _), (b, line) in pairwise(units) if a != b), None)
        sizes = [(size, line) for line, _, size in values if size]
        jumps = [at for at, ((a, _), (b, _)) in enumerate(pairwise(sizes), 1) if max(a, b) >= _OTHER_SIZE * min(a, b)]
        if changed is not None:
            yield Named(changed[2], f"{name} is in {changed[1]} from here on, and in {changed[0]} above")
        elif len(jumps) == 1 and 2 <= jumps[0] <= len(sizes) - 2:
            line = sizes[jumps[0]][1]
            yield Named(line, f"from here on, {name} is of another size than above: its unit may have changed")
