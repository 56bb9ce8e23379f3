"""Tables with a row on each line: results.tsv, and the CSV that people, W&B and MLflow write."""

from __future__ import annotations

import contextlib
import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from logbook_agent.imports.cells import commit_of, moment_of, value_of, verdict_of
from logbook_agent.imports.columns import RowEntry, columns_of, devices_named, metrics_in, row_entries
from logbook_agent.imports.document import (
    Document,
    Named,
    ReportedEntry,
    ReportedTable,
    SourceSpan,
    lines_of,
    partition,
)
from logbook_agent.imports.order import disordered, doubled
from logbook_agent.model.header import Metric

# What karpathy/autoresearch calls its columns.
_AUTORESEARCH = ("commit", "val_bpb", "memory_gb", "status", "description")
# Above so many rows, so many are one entry.
MOST_ENTRIES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """The cells of one row, on these lines."""

    first: int
    last: int
    cells: tuple[str, ...]


def parse(text: str, *, columns: Sequence[str] = (), declared: Mapping[str, Metric], delimiter: str = "") -> Document:
    """A table as entries. `columns` are the names of a table without a header."""
    lines = lines_of(text)
    rows = _rows(lines, delimiter or delimiter_of(text))
    body = [row for row in rows if any(cell.strip() for cell in row.cells) and not row.cells[0].startswith("# ")]
    named: list[Named] = []
    headings, body = (tuple(columns), body) if columns else _header(body)
    if headings is None:
        width = max((len(row.cells) for row in body), default=0)
        is_known = width == len(_AUTORESEARCH) and all(commit_of(row.cells[0])[0] for row in body)
        headings = _AUTORESEARCH if is_known else tuple(f"column_{n}" for n in range(1, width + 1))
        named.append(Named(1, f"no header: the columns are read as {', '.join(headings)}; --columns A,B,C names them"))
    body = [row for row in body if row.cells != headings]
    ragged = [row for row in body if len(row.cells) > len(headings)]
    named += [Named(row.first, f"{len(row.cells)} cells in {len(headings)} columns") for row in ragged[:3]]
    entries, metrics, more = as_entries(headings, [_fitted(row, headings) for row in body], declared)
    return Document(spans=partition(entries, lines), metrics=tuple(metrics), named=(*named, *more))


def delimiter_of(text: str) -> str:
    """The sign between the cells: the tab, else the one that most of the first lines have alike."""
    lines = [line for line in text.split("\n")[:20] if line.strip()]
    counts = {sign: Counter(line.count(sign) for line in lines) for sign in "\t,;|"}
    return max(
        "\t,;|",
        key=lambda sign: (
            sign == "\t" and bool(lines) and sign in lines[0],
            max((n for k, n in counts[sign].items() if k), default=0),
        ),
    )


def _rows(lines: Sequence[str], delimiter: str) -> list[Cells]:
    """The rows, where quotes may hold line ends; without quotes where one of them is never closed, so that it takes in
    lines that are rows."""
    quoted = _read(lines, delimiter, is_quoted=True)
    width = Counter(len(row.cells) for row in quoted).most_common(1)[0][0] if quoted else 0
    inside = (lines[at] for row in quoted for at in range(row.first, row.last))
    is_open = any(line.count(delimiter) >= width - 1 for line in inside) or not quoted
    return _read(lines, delimiter, is_quoted=False) if is_open else quoted


def _read(lines: Sequence[str], delimiter: str, *, is_quoted: bool) -> list[Cells]:
    found: list[Cells] = []
    own = (line.rstrip("\r").replace("\r", " ") + "\n" for line in lines)
    reader = csv.reader(own, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if is_quoted else csv.QUOTE_NONE)
    at = 0
    with contextlib.suppress(csv.Error):  # a cell of more than 128 kB: the rest is text
        for cells in reader:
            row = tuple(cell.strip() for cell in cells) or ("",)
            found.append(Cells(first=at + 1, last=reader.line_num, cells=row))
            at = reader.line_num
    return found


def _header(rows: Sequence[Cells]) -> tuple[tuple[str, ...] | None, list[Cells]]:
    """The header and the rows below it; None where the first row holds values."""
    if not rows:
        return (), []
    first = rows[0].cells
    is_row = (
        commit_of(first[0])[0] is not None
        or any(value_of(cell).number is not None for cell in first)
        or any(map(moment_of, first))
    )
    return (None, [*rows]) if is_row else (first, [*rows[1:]])


def _fitted(row: Cells, headings: Sequence[str]) -> Cells:
    """The row with as many cells as there are columns; the last one takes what is too much."""
    width = len(headings)
    cells = (*row.cells[: width - 1], " ".join(row.cells[width - 1 :])) if len(row.cells) > width else row.cells
    return replace(row, cells=(*cells, *[""] * (width - len(cells))))


def as_entries(
    headings: Sequence[str], rows: Sequence[Cells], declared: Mapping[str, Metric]
) -> tuple[list[SourceSpan], list[Metric], list[Named]]:
    """A span for each row, the metrics, and what is to be named. Of a table of very many rows a span holds a part."""
    cells = [row.cells for row in rows]
    columns = columns_of(headings, cells, declared)
    found = row_entries(columns, cells)
    named = [*_order(rows, found), *(Named(rows[0].first, text) for text in devices_named(columns, cells))]
    named += [Named(row.first, problem) for row, one in zip(rows, found, strict=True) for problem in one.problems]
    if len(rows) <= MOST_ENTRIES:
        spans = [
            SourceSpan(first=row.first, last=row.last, entry=one.entry) for row, one in zip(rows, found, strict=True)
        ]
        return spans, metrics_in(columns), named
    parts = range(0, len(rows), MOST_ENTRIES)
    spans = [_part(rows[at : at + MOST_ENTRIES], found[at : at + MOST_ENTRIES]) for at in parts]
    return (
        spans,
        metrics_in(columns),
        [*named, Named(rows[0].first, f"{len(rows):,} rows: {MOST_ENTRIES:,} of them are one entry")],
    )


def _part(rows: Sequence[Cells], found: Sequence[RowEntry]) -> SourceSpan:
    first, last = rows[0].first, rows[-1].last
    tables = [table for one in found for table in one.entry.tables]
    table = ReportedTable(rows=tuple(row for one in tables for row in one.rows))
    return SourceSpan(
        first=first, last=last, entry=ReportedEntry(title=f"Rows of lines {first} to {last}", tables=(table,))
    )


def _order(rows: Sequence[Cells], found: Sequence[RowEntry]) -> list[Named]:
    """Numbers and times that are doubled or out of order. A table that begins with the newest row is in order."""
    numbers = [(one.number, row.first) for row, one in zip(rows, found, strict=True) if one.number is not None]
    times = [(one.entry.opened, row.first) for row, one in zip(rows, found, strict=True) if one.entry.opened]
    return [*doubled(numbers), *disordered(numbers), *disordered(times)]


def is_table(text: str) -> bool:
    """Whether the lines of a text have cells, as many on each."""
    lines = [line for line in text.split("\n")[:20] if line.strip() and not line.startswith("#")]
    sign = delimiter_of(text)
    counts = {line.count(sign) for line in lines}
    has_verdict = any(verdict_of(cell) for line in lines for cell in line.split(sign))
    return len(lines) > 1 and sign != "|" and 0 not in counts and (len(counts) == 1 or (sign == "\t" and has_verdict))
