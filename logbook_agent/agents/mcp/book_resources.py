"""Documents and logs as resources: the view of each logbook, its entries as Markdown, the output of their runs.

logbook://TOPIC/view
logbook://TOPIC/entry/ID
logbook://TOPIC/log/ID/RUN
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from logbook_agent.agents.mcp.desk import Desk
from logbook_agent.agents.mcp.output_fences import fenced
from logbook_agent.campaign.run_logs import FollowedLog
from logbook_agent.cli.output import CONTROLS
from logbook_agent.findings.read import read
from logbook_agent.model.errors import NotFound
from logbook_agent.pages.blocks import blocks_of
from logbook_agent.pages.plotted import plots_of
from logbook_agent.store.book import Book
from logbook_agent.store.reading import read_text
from logbook_agent.store.workspace import Workspace

# The forms of addresses: address, name, what it is, type.
VIEW = ("logbook://{topic}/view", "view", "The logbook as Markdown. Those that there are are listed.", "text/markdown")
TEMPLATES = (
    ("logbook://{topic}/entry/{id}", "entry", "An entry with its runs, as Markdown.", "text/markdown"),
    ("logbook://{topic}/log/{id}/{run}", "log", "What a run printed, fenced; of a long one the end.", "text/markdown"),
)
# Of a log, no more than this is given: the end.
LOG_BYTES = 200_000
_VIEW_BYTES = 16_000_000
_RUN = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A resource that is listed."""

    uri: str
    name: str
    title: str


def documents(desk: Desk) -> list[Document]:
    """The view of each logbook, in the order of their topics."""
    space = desk.space()
    return [
        Document(uri=f"logbook://{quote(book.topic, safe='')}/view", name=book.topic, title=f"The logbook {book.topic}")
        for book in space.books()
        if book.view_path.is_file()
    ]


def text_of(desk: Desk, uri: str) -> str:
    """The text of a resource, without secrets; what a terminal would obey is shown as text. Raises NotFound, and what
    reading a record raises."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        raise _unknown(uri) from None
    topic, words = unquote(parts.netloc), [unquote(word) for word in parts.path.strip("/").split("/")]
    if parts.scheme != "logbook" or not topic:
        raise _unknown(uri)
    with desk.one_at_a_time:
        space = desk.space(topic)
        book = space.book()
        match words:
            case ["view"]:
                text = read_text(book.view_path, within=book.root, limit=_VIEW_BYTES)
            case ["entry", entry_id]:
                text = _entry(space, book.outgoing(), entry_id)
            case ["log", entry_id, number] if _RUN.fullmatch(number):
                text = _log(space, book, entry_id, int(number))
            case _:
                raise _unknown(uri)
        return space.redactor.text(text).translate(CONTROLS)


def _entry(space: Workspace, book: Book, entry_id: str) -> str:
    found, record = read(space, book), book.record(book.resolve(entry_id))
    later, compared = found.later(record.entry), found.compared(record.entry)
    return (
        blocks_of(space, book)
        .entry(record, later=later, compared=compared, plots=plots_of(found, record.entry))
        .strip("\n")
    )


def _log(space: Workspace, book: Book, entry_id: str, number: int) -> str:
    entry_id = book.resolve(entry_id)
    if number not in book.run_numbers(entry_id):
        raise NotFound(
            f"{entry_id} has no run {number}",
            cause=f"its runs are {', '.join(map(str, book.run_numbers(entry_id))) or 'none'}",
            hint=f"logbook show {entry_id}",
        )
    kept = b""
    cut = 0
    for piece in FollowedLog(space, book, entry_id, number).all():
        kept += piece
        cut += max(0, len(kept) - LOG_BYTES)
        kept = kept[-LOG_BYTES:]
    said = f"{cut:,} bytes before this are left out: logbook show {entry_id} --log\n" if cut else ""
    return said + fenced(kept.decode("utf-8", "replace"))


def _unknown(uri: str) -> NotFound:
    forms = ", ".join(form[0] for form in (VIEW, *TEMPLATES))
    return NotFound(f"no resource {uri}", cause=f"addresses are {forms}", hint="list the resources")
