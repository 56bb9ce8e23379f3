"""Runs that a worker of its own makes, from the side of the client, which alone writes to the book: submitting one,
and attending it to its end."""

from __future__ import annotations

import os
import select
import time

from logbook_agent.model.errors import LogbookError, ToolError
from logbook_agent.model.run import Run
from logbook_agent.running.execution import Display, RunPlan
from logbook_agent.running.executors.contract import OVER, PIECE_BYTES, Executor, Followed
from logbook_agent.running.executors.intake import take_in
from logbook_agent.running.executors.sending import Sending
from logbook_agent.running.executors.table import executor_of
from logbook_agent.running.launch.signals import StopRequests
from logbook_agent.store.book import Book
from logbook_agent.store.reading import open_file
from logbook_agent.store.spool import Spool
from logbook_agent.store.workspace import Workspace

# How often a run is looked at: soon at first, then ever more seldom.
FIRST_S = 0.02
_GROWTH = 1.3
# A machine that is slow to ask may take so long to answer; a request to stop waits for that.
_WAIT_S = 2.0


def make(
    workspace: Workspace,
    book: Book,
    plan: RunPlan,
    name: str,
    display: Display,
    stops: StopRequests,
    *,
    patience_s: float = 0.0,
) -> Run:
    """Submit a run and return it when it has ended. A start that is refused for a reason that may pass is tried again
    for so long, or until a request to stop comes."""
    sending = Sending(workspace, book, [(plan, None)], name, patience_s=patience_s)
    while not sending.attempt(display):
        while stops.count == 0 and sending.wait_s:
            # Any signal ends the wait, also that a process of this one has ended.
            if select.select([stops.wakeup], [], [], sending.wait_s)[0]:
                stops.clear_wakeup()
        if stops.count:
            sending.give_up()
            break
    return attend(workspace, book, sending.runs[0], display, stops)


def attend(workspace: Workspace, book: Book, run: Run, display: Display, stops: StopRequests) -> Run:
    """Wait for the end of a run that was submitted, take it in and return it. A request to stop is passed on to its
    worker."""
    spool = book.spool(run)
    executor = executor_of(workspace, run)
    pause_s, offset = FIRST_S, 0 if display.shows_output else None
    told: set[str | None] = {None}
    while spool.folder.is_dir():
        asked = time.monotonic()
        followed = how_far(executor, spool, offset, wait_s=_WAIT_S)
        if followed is None:
            continue
        if offset is not None and followed.output:
            offset += len(followed.output)
            display.output("stdout", followed.output)
        # The rest of a long output first.
        if followed.stage in OVER and not (followed.output and offset is not None):
            trouble = taken_in(workspace, book, spool)
            if trouble is None:
                break
        else:
            trouble = followed.trouble
        for text in (trouble, followed.said):
            if text not in told:
                told.add(text)
                display.progress(f"{run.entry} run {run.run}: {text}")
        if stops.take():
            executor.stop(spool)
        beat = followed.heartbeat
        display.tick(beat.last if beat is not None else None, beat.bytes if beat is not None else 0)
        # A signal ends the wait: a request to stop, or that a worker of this process has ended.
        left_s = max(0.0, asked + pause_s - time.monotonic())
        if select.select([stops.wakeup], [], [], left_s)[0]:
            stops.clear_wakeup()
        pause_s = min(executor.pace_s, pause_s * _GROWTH)
    else:
        # Another command took the run in. The rest of its output is in the log.
        run = book.reread(run)
        while offset is not None and (rest := log_piece(workspace, book, run.entry, run.run, offset)):
            offset += len(rest)
            display.output("stdout", rest)
    display.done()
    return book.reread(run)


def how_far(executor: Executor, spool: Spool, offset: int | None = None, *, wait_s: float = 0.0) -> Followed | None:
    """What `follow` answers; None if another command took the run in meanwhile, and removed its spool."""
    try:
        return executor.follow(spool, offset, wait_s=wait_s)
    except LogbookError:
        if spool.folder.is_dir():
            raise
        return None


def taken_in(workspace: Workspace, book: Book, spool: Spool) -> str | None:
    """Take in a run that is over; why not, where its machine does not answer, which may pass."""
    try:
        take_in(workspace, book, spool)
    except ToolError as error:
        return error.said
    return None


def log_piece(workspace: Workspace, book: Book, entry_id: str, number: int, offset: int) -> bytes:
    """The log of a run from this byte on, or a part of that, wherever it lies; empty where there is no more yet."""
    if book.spools() and os.path.lexists(book.run_folder(entry_id, number) / "run.json"):
        run = book.run(entry_id, number)
        spool = book.spool(run)
        found = how_far(executor_of(workspace, run), spool, offset) if spool.folder.is_dir() else None
        if found is not None and found.output:
            return found.output
    path = book.log_path(entry_id, number)
    if not os.path.lexists(path):
        return b""
    with open_file(path, within=book.within(path)) as log:
        log.seek(offset)
        return log.read(PIECE_BYTES)
