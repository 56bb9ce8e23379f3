"""The plots that entries and the header name, as the view shows them; and which of them have to be drawn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from logbook_agent.findings.read import Findings
from logbook_agent.model.entry import Entry
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text import markdown as md

if TYPE_CHECKING:
    from logbook_agent.findings.plots.figure import Figure

_DUE = "plots that are due"


def plots_of(found: Findings, entry: Entry) -> list[str]:
    """The pictures that an entry names, as Markdown. Which these are follows from the records: whether they are drawn
    makes no difference to the view."""
    if not entry.plots:
        return []
    # Statistics and tables are loaded for those that name some.
    from logbook_agent.findings.plots.choose import named

    return [_picture(found.book, figure) for figure in named(found, entry)]


def plots_of_thread(found: Findings) -> list[str]:
    """The same of the header."""
    if not found.book.header.plots:
        return []
    from logbook_agent.findings.plots.choose import named_of_thread

    return [_picture(found.book, figure) for figure in named_of_thread(found)]


def _picture(book: Book, figure: Figure) -> str:
    title = md.escape(md.one_line(figure.title)).replace("[", "\\[").replace("]", "\\]")
    return f"![{title}]({book.folder.name}/plots/{figure.key}.svg)"


def mark_due(workspace: Workspace, book: Book, entries: Iterable[Entry]) -> None:
    """Note that what these entries show was rendered, so that their plots are drawn before the command ends: once,
    however often it renders, and not while something is measured."""
    ids = [entry.id for entry in entries if entry.plots]
    if ids or book.header.plots:
        due: dict[str, set[str]] = workspace.made.setdefault(_DUE, {})
        due.setdefault(book.topic, set()).update(ids)


def is_due(workspace: Workspace) -> bool:
    return _DUE in workspace.made


def take_due(workspace: Workspace) -> dict[str, set[str]]:
    """The IDs of those entries by topic; from now on nothing is due. A topic stands there for the plots of its thread,
    too."""
    due: dict[str, set[str]] = workspace.made.pop(_DUE, {})
    return due
