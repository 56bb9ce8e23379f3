"""`logbook close`: how a thread ended, and that it goes on after all."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from logbook_agent.entries.header import change_header
from logbook_agent.findings.read import read
from logbook_agent.issue.sync.place import SendOptions, issue_of, typed
from logbook_agent.issue.sync.sync import SyncRequest, SyncResult, sync
from logbook_agent.model.entry import OPEN
from logbook_agent.model.errors import RemoteError, UsageError
from logbook_agent.model.header import Closing, Header
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.markdown import clean, one_line

_SHOWN = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseRequest:
    """`reopen` takes the closing back; the rest says how the thread ended. `local`: without a sync. `dry_run`: nothing
    is written or sent.

    Without a conclusion what was said before stands, and so do the limitations and next steps that are not given.
    """

    conclusion: str | None = None
    limitations: Sequence[str] = ()
    next_steps: Sequence[str] = ()
    reopen: bool = False
    local: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseResult:
    """`unmet`: numbers of the stop criteria that are not met. `synced`: None where nothing was to be told."""

    book: Book
    header: Header
    unmet: tuple[int, ...]
    synced: SyncResult | None


def close(workspace: Workspace, request: CloseRequest, wire: SendOptions) -> CloseResult:
    """Write the end into the header, warn about what is left, and tell the issue."""
    book = workspace.book()
    closing = None if request.reopen else _closing(workspace, request, book.header)
    unmet = () if closing is None else _warned(workspace, book)
    if request.reopen and book.header.closing is not None and book.header.issue is not None:
        workspace.warnings.append(f"to open the issue again, open it there: {book.header.issue.url}")
    if request.dry_run:
        return CloseResult(book=book, header=_changed(book.header, closing), unmet=unmet, synced=None)
    header = change_header(workspace, book, lambda h: _changed(h, closing))
    if request.local or issue_of(book) is None or (closing is None and not request.reopen):
        return CloseResult(book=book, header=header, unmet=unmet, synced=None)
    # What was said stands in the header now.
    again = typed(workspace, "close", *(["--reopen"] if closing is None else []))
    try:
        synced = sync(workspace, SyncRequest(), dataclasses.replace(wire, again=again))
    except RemoteError as error:
        now = "open again" if closing is None else "closed"
        error.reword(f"{book.topic} is {now} here, but the issue was not updated: {error.message}")
        raise
    return CloseResult(book=book, header=book.header, unmet=unmet, synced=synced)


def _closing(workspace: Workspace, request: CloseRequest, header: Header) -> Closing:
    said = clean(request.conclusion or "").strip("\n")
    before = header.closing if not said.strip() else None
    conclusion = said if before is None else before.conclusion
    if not conclusion.strip():
        raise UsageError(
            "no conclusion",
            cause="a thread is closed with what was found, even when that is nothing",
            hint="logbook close --conclusion '...' (text, @FILE or - for standard input)",
        )
    return Closing(
        at=workspace.stamp(),
        conclusion=conclusion,
        limitations=_items(request.limitations) or (before.limitations if before is not None else ()),
        next_steps=_items(request.next_steps) or (before.next_steps if before is not None else ()),
    )


def _items(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(text for text in map(clean, texts) if text.strip())


def _changed(header: Header, closing: Closing | None) -> Header:
    before = header.closing
    if before is not None and closing is not None and dataclasses.replace(closing, at=before.at) == before:
        return header
    return dataclasses.replace(header, closing=closing)


def _warned(workspace: Workspace, book: Book) -> tuple[int, ...]:
    unmet = []
    found = read(workspace, book)
    for number, criterion in enumerate(found.header.stop_criteria, 1):
        if not criterion.met:
            unmet.append(number)
            workspace.warnings.append(f"stop criterion {number} is not met: {one_line(criterion.text)[:_SHOWN]}")
    unfinished = [e["id"] for e in found.summaries if e["state"] in OPEN]
    if unfinished:
        more = f" and {len(unfinished) - 5} more" if len(unfinished) > 5 else ""
        workspace.warnings.append(f"not finished: {', '.join(unfinished[:5])}{more}")
    return tuple(unmet)
