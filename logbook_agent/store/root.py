"""The logbooks of a root: which there are, and how a new one begins."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from logbook_agent.model.errors import StoreError, Taken
from logbook_agent.model.header import Header
from logbook_agent.store.book import Book
from logbook_agent.store.git_files import write_git_files
from logbook_agent.store.user_config import NO_PLACES, UserPlaces
from logbook_agent.text.redaction.redactor import Redactor, by_shape


def create(
    root: Path,
    header: Header,
    *,
    ignore_view: bool = False,
    durable: bool = True,
    redactor: Callable[[], Redactor] = by_shape,
    places: UserPlaces = NO_PLACES,
) -> Book:
    """A new logbook under `root`; `places`: as of `Book`. Raises Taken when its topic or prefix exists there."""
    for book in books(root):
        if book.topic == header.topic:
            raise Taken(
                f"the logbook {header.topic} already exists",
                cause=f"{(path := book.header_path.relative_to(root.parent))} is there",
                hint=f"continue it with: logbook -L {header.topic} status; its goal and metrics are in {path}",
            )
        if prefix_of(book) == header.prefix:
            raise Taken(
                f"the prefix {header.prefix} is taken by {book.topic}",
                cause="IDs are unique in a root, so each logbook needs its own prefix",
                hint=f"choose another --prefix, or continue with: logbook -L {book.topic} status",
            )
    book = Book(root, header.topic, durable=durable, redactor=redactor, places=places)
    if os.path.lexists(book.view_path) or os.path.lexists(book.folder):
        raise Taken(
            f"{header.topic}.md or {header.topic}/ exists in {root.name}/ and is not a logbook",
            cause="a file with that name was put there by hand",
            hint="choose another topic, or move that file away",
        )
    book.files.make()
    write_git_files(book.files, header.topic, ignore_view=ignore_view, durable=durable)
    book.write_header(header)
    return book


def books(root: Path, *, redactor: Callable[[], Redactor] = by_shape, places: UserPlaces = NO_PLACES) -> list[Book]:
    """All logbooks under `root`, by topic; also one whose header cannot be read. `places`: as of `Book`."""
    if not root.is_dir():
        return []
    names = (e.name for e in os.scandir(root) if not e.name.startswith("."))
    found = (name for name in names if os.path.lexists(f"{root}/{name}/logbook.yaml"))
    return [Book(root, topic, redactor=redactor, places=places) for topic in sorted(found)]


def prefix_of(book: Book) -> str | None:
    """The prefix of a logbook; None where its header cannot be read, which concerns no other logbook."""
    try:
        return book.header.prefix
    except StoreError:
        return None
