"""A command of setup that stays, such as an allocation of devices: a run of its own, ready once its output matches."""

from __future__ import annotations

import contextlib
import re
import select

from logbook_agent.model.errors import ToolError
from logbook_agent.model.run import Run
from logbook_agent.running.execution import ask_to_end
from logbook_agent.running.executors.dispatch import attend, log_piece
from logbook_agent.running.executors.intake import take_in
from logbook_agent.running.launch.signals import StopRequests
from logbook_agent.running.order import Display
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace

_PAUSE_S = 0.2
# So much of the output before a piece may be part of a match.
_SEEN_CHARS = 10_000


def ready(workspace: Workspace, book: Book, run: Run, stops: StopRequests) -> Run:
    """The run once its output matches, it has ended, or a request to stop came."""
    until, text, offset = re.compile(run.until or "", re.MULTILINE), "", 0
    while run.exit is None and not stops.count:
        if piece := log_piece(workspace, book, run.entry, run.run, offset):
            offset += len(piece)
            text = text[-_SEEN_CHARS:] + piece.decode("utf-8", "replace")
            if until.search(text):
                break
            continue
        spool = book.spool(run)
        if spool.folder.is_dir():
            take_in(workspace, book, spool)
        run = book.reread(run)
        if select.select([stops.wakeup], [], [], _PAUSE_S)[0]:
            stops.clear_wakeup()
    return run


def end(workspace: Workspace, book: Book, run: Run, display: Display, stops: StopRequests) -> None:
    """End the command as Ctrl-C would, and record its end."""
    with contextlib.suppress(ToolError):  # its machine does not answer: it is waited for, and may end by itself
        ask_to_end(workspace, book, run)
    attend(workspace, book, run, display, stops)
