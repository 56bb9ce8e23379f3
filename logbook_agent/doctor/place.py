"""Which logbook to look after: as for every command, but one whose header is damaged is found too."""

from __future__ import annotations

from logbook_agent.store.book import Book
from logbook_agent.store.locate import prefix_of
from logbook_agent.store.workspace import Workspace


def find_book(workspace: Workspace) -> Book:
    """The logbook that is named, or the only one. Raises what every command raises."""
    there = workspace.books()
    name = workspace.logbook_option or workspace.environ.get("LOGBOOK") or workspace.config.logbook
    named = [b for b in there if b.topic == name] or [b for b in there if name and prefix_of(b) == name]
    if named:
        return named[0]
    if len(there) == 1 and not name:
        return there[0]
    return workspace.book()
