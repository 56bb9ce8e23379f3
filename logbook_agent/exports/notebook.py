"""What a notebook displays of a logbook and of an entry: the text of `status` and `show`."""

from __future__ import annotations

from logbook_agent.campaign.typing_place import typing_place
from logbook_agent.cli.output import clean
from logbook_agent.cli.show_command import entry_text
from logbook_agent.cli.status_commands import status_text
from logbook_agent.entries.overview import overview
from logbook_agent.findings.read import read
from logbook_agent.model.record import Record
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace


def status(workspace: Workspace, book: Book) -> str:
    # What a cell shows has nothing to warn of twice.
    warned = [*workspace.warnings]
    text = status_text(overview(workspace, book, read(workspace, book, here=typing_place(workspace))))
    workspace.warnings[:] = warned
    return clean(text)


def show(workspace: Workspace, book: Book, record: Record) -> str:
    return clean(entry_text(workspace, book, record))
