"""Tables with a row on each line: results.tsv, and the CSV that people, W&B and MLflow write."""

from __future__ import annotations

import contextlib
import csv
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence

from logbook_agent.imports.cells import commit_of, moment_of, value_of
from logbook_agent.imports.document import Document, Named, joined
from logbook_agent.imports.tables import Cells, entries_of, table_of
from logbook_agent.model.header import Metric

# The columns of a curve: a run has a row for each step.
_STEPS = frozenset({"step", "_step", "global_step", "epoch", "iteration", "iter"})
# What karpathy/autoresearch calls its columns.
_AUTORESEARCH = ("commit", "val_bpb", "memory_gb", "status", "description")


def parse(lines: Sequence[str], columns: Sequence[str], declared: Mapping[str, Metric]) -> Document:
    """A table as entries. `columns` are the names of a table without a header."""
    rows = _rows(lines, delimiter_of(lines))
    body = [row for row in rows if any(row.cells) and not row.cells[0].startswith("# ")]
    named: list[Named] = []
    headings = tuple(columns)
    if not columns and body and not _is_row(body[0].cells):
        headings = body[0].cells
    elif not columns:
        width = max((len(row.cells) for row in body), default=0)
        is_known = width == len(_AUTORESEARCH) and all(commit_of(row.cells[0]) for row in body)
        headings = _AUTORESEARCH if is_known else tuple(f"column_{n}" for n in range(1, width + 1))
        named.append(Named(1, f"no header: the columns are read as {', '.join(headings)}; --columns A,B,C names them"))
    body = [row for row in body if row.cells != headings]
    ragged = [row for row in body if len(row.cells) > len(headings)]
    named += [Named(row.first, f"{len(row.cells)} cells in {len(headings)} columns") for row in ragged[:3]]
    table = table_of(headings, body, declared)
    spans = entries_of(table)
    if _STEPS & {heading.casefold() for heading in headings}:
        runs = itertools.groupby(spans, key=lambda span: span.entry.title if span.entry is not None else "")
        spans = [one[0] if len(one) == 1 else joined(one, title) for title, group in runs if (one := [*group])]
    return Document(spans=tuple(spans), metrics=tuple(table.metrics), named=tuple(named))


def _is_row(cells: Sequence[str]) -> bool:
    """Whether cells are values, and no headings."""
    return commit_of(cells[0]) is not None or any(value_of(c).number is not None or moment_of(c) for c in cells)


def delimiter_of(lines: Sequence[str]) -> str:
    """The sign between the cells: the tab where most of the first lines have one, else the one that most have alike."""
    own = [line for line in lines[:20] if line.strip()]
    counts = {sign: Counter(line.count(sign) for line in own if sign in line) for sign in ",;|"}
    return (
        "\t"
        if 2 * sum("\t" in line for line in own) > len(own)
        else max(",;|", key=lambda sign: max(counts[sign].values(), default=0))
    )


def _rows(lines: Sequence[str], delimiter: str) -> list[Cells]:
    """The rows; between commas, quotes may hold line ends."""
    found: list[Cells] = []
    at = 0
    own = (line.rstrip("\r").replace("\r", " ") + "\n" for line in lines)
    reader = csv.reader(own, delimiter=delimiter, quoting=csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL)
    with contextlib.suppress(csv.Error):  # a cell of more than 128 kB: the rest is text
        for cells in reader:
            row = tuple(cell.strip() for cell in cells) or ("",)
            found.append(Cells(first=at + 1, last=reader.line_num, cells=row))
            at = reader.line_num
    return found


def is_table(lines: Sequence[str]) -> bool:
    """Whether the lines of a text have cells, as many on each; tabs may differ in number."""
    own = [line for line in lines[:20] if line.strip() and not line.startswith("#")]
    sign = delimiter_of(lines)
    counts = {line.count(sign) for line in own}
    return len(own) > 1 and sign != "|" and 0 not in counts and (len(counts) == 1 or sign == "\t")
