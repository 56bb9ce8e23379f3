"""Pictures that are kept beside the view, in `plots/` of a logbook: one SVG for each figure, by its key."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress

from logbook_agent.findings.read import Findings
from logbook_agent.model.errors import StoreError
from logbook_agent.pages.embedded import plot_path
from logbook_agent.report.figures.catalogue import figures, named, own_figures
from logbook_agent.report.figures.figure import Figure
from logbook_agent.report.figures.svg import OURS, svg
from logbook_agent.store.book import Book
from logbook_agent.store.names import PLOTS


def keep(book: Book, found: Iterable[Figure]) -> None:
    """Draw figures into their files, of which those that would not change are not written. Raises StoreError for a file
    that cannot be written."""
    for figure in found:
        path, text = plot_path(book, figure.key), svg(figure)
        if _content(book, figure.key) != text:
            book.files.make(path.parent)
            book.files.write(path, text, durable=False)


def keep_due(book: Book, findings: Findings, entry_ids: Collection[str]) -> None:
    """Draw again the figures that these entries and the header name, and those of theirs that are kept; pictures
    without a figure are removed."""
    kept = _keys(book)
    for owner in (*entry_ids, None):
        entry = findings.entry(owner) if owner is not None else None
        wanted = {figure.key: figure for figure in named(findings, entry)}
        own = {key for key in kept if key.startswith(f"{(owner or 'thread').lower()}-")}
        if own - wanted.keys():
            wanted |= {figure.key: figure for figure in own_figures(findings, owner) if figure.key in own}
        keep(book, wanted.values())
        _remove(book, own - wanted.keys())


def keep_all(book: Book, findings: Findings) -> None:
    """Draw every figure of a logbook; of the other pictures none stays."""
    found = figures(findings)
    keep(book, found)
    _remove(book, _keys(book) - {figure.key for figure in found})


def _keys(book: Book) -> set[str]:
    return {name[:-4] for name in book.files.names(book.folder / PLOTS) if name.endswith(".svg")}


def _content(book: Book, key: str) -> str | None:
    return book.files.text(plot_path(book, key)) if key in _keys(book) else None


def _remove(book: Book, keys: Iterable[str]) -> None:
    """Remove pictures that were drawn here; what else people keep in that folder stays."""
    for key in sorted(keys):
        with suppress(StoreError):  # neither is what cannot be read
            if (_content(book, key) or "").startswith(OURS):
                book.files.remove(plot_path(book, key))
