"""Naming plots with the entry, or the logbook, whose page is to show them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from logbook_agent.pages.views import changing
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace


def name_plots(workspace: Workspace, book: Book, wanted: Mapping[str | None, Sequence[str]]) -> None:
    """Add plots, as `parse_plot` reads them, to what entries name; None stands for the header. What is named already
    stays in its place. The view follows."""
    with changing(workspace, book), book.lock():
        for entry_id, names in wanted.items():
            if entry_id is None:
                header = book.reread_header()
                plots = tuple(dict.fromkeys((*header.plots, *names)))
                if plots != header.plots:
                    book.write_header(dataclasses.replace(header, plots=plots))
                continue
            entry = book.entry(entry_id)
            plots = tuple(dict.fromkeys((*entry.plots, *names)))
            if plots != entry.plots:
                book.write_entry(dataclasses.replace(entry, plots=plots))
