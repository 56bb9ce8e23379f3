"""The data of a figure as rows, and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from logbook_agent.report.figures.figure import Figure
from logbook_agent.report.figures.figure_words import exact, plain

HEADINGS = ("series", "x", "y", "low", "high", "n", "entry")


def rows(figure: Figure) -> Iterator[tuple[str, ...]]:
    """A row of texts for each point, below `HEADINGS`."""
    for one in figure.series:
        for p in one.points:
            numbers = ("" if value is None else exact(value) for value in (p.x, p.y, p.low, p.high))
            yield (plain(one.name), *numbers, str(p.n), plain(p.entry))


def as_csv(figure: Figure) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(HEADINGS)
    writer.writerows([_inert(cell) for cell in row] for row in rows(figure))
    return text.getvalue()


def _inert(cell: str) -> str:
    """A text that a spreadsheet would take for a formula, marked as text."""
    is_number = cell.lstrip("-").replace(".", "", 1)[:1].isdigit()
    return f"'{cell}" if cell[:1] in ("=", "+", "-", "@") and not is_number else cell
