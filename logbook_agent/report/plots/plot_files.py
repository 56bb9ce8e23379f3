"""Plots that are kept beside the view, in `plots/` of a logbook: one SVG for each figure, by its key."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from logbook_agent.findings.read import Findings
from logbook_agent.model.errors import StoreError
from logbook_agent.pages.plotted import plot_path
from logbook_agent.report.figures.catalogue import figures, named, named_of_thread, of_thread
from logbook_agent.report.figures.figure import Figure
from logbook_agent.report.figures.svg import OURS, svg
from logbook_agent.store.book import Book
from logbook_agent.store.layout import PLOTS


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPlot:
    """A figure and its file. `changed`: the picture differs from the last one."""

    figure: Figure
    path: Path
    changed: bool


def keep(book: Book, found: Iterable[Figure]) -> list[KeptPlot]:
    """Draw figures into their files. Files that would not change are not written. Raises StoreError for a file that
    cannot be written."""
    kept = []
    for figure in found:
        path, text = plot_path(book, figure.key), svg(figure)
        changed = _content(book, figure.key) != text
        if changed:
            book.files.make(path.parent)
            book.files.write(path, text, durable=False)
        kept.append(KeptPlot(figure=figure, path=path, changed=changed))
    return kept


def _names(book: Book) -> set[str]:
    """The keys of the plots that are kept."""
    return {name[:-4] for name in book.files.names(book.folder / PLOTS) if name.endswith(".svg")}


def _content(book: Book, key: str) -> str | None:
    return book.files.text(plot_path(book, key)) if key in _names(book) else None


def keep_due(book: Book, findings: Findings, entry_ids: Collection[str]) -> list[KeptPlot]:
    """Draw again the plots that these entries and the header name, and those of theirs that are kept; plots without a
    figure are removed."""
    names, drawn = _names(book), []
    for entry_id in entry_ids:
        wanted = {figure.key: figure for figure in named(findings, findings.entry(entry_id))}
        own = {name for name in names if _is_of(name, entry_id)}
        if own - wanted.keys():
            wanted |= {f.key: f for f in figures(findings, entry=entry_id) if f.key in own}
        drawn += keep(book, wanted.values())
        _remove(book, own - wanted.keys())
    thread = {figure.key: figure for figure in named_of_thread(findings)}
    own = {name for name in names if _is_of(name, "thread")}
    if own - thread.keys():
        thread |= {f.key: f for f in of_thread(findings) if f.key in own}
    drawn += keep(book, thread.values())
    _remove(book, own - thread.keys())
    return drawn


def keep_all(book: Book, findings: Findings) -> list[KeptPlot]:
    """Draw every figure of a logbook; of the others none stays."""
    found = figures(findings)
    drawn = keep(book, found)
    _remove(book, _names(book) - {figure.key for figure in found})
    return drawn


def _is_of(name: str, owner: str) -> bool:
    return name.startswith(f"{owner.lower()}-")


def _remove(book: Book, keys: Iterable[str]) -> None:
    """Remove plots that were drawn here; what else people keep in that folder stays."""
    for key in sorted(keys):
        with suppress(StoreError):  # neither is what cannot be read
            if (_content(book, key) or "").startswith(OURS):
                book.files.remove(plot_path(book, key))
