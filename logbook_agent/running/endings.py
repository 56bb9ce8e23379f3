"""Stops a run, whether another process of this tool or a worker executes it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence

from logbook_agent.model.errors import StoreError, UsageError
from logbook_agent.model.run import Run
from logbook_agent.running.launch.signals import StopRequests
from logbook_agent.running.order import Display
from logbook_agent.store.book import Book
from logbook_agent.store.processes import this_host
from logbook_agent.store.spool import Holder
from logbook_agent.store.workspace import Workspace

# A command that outlived its tool by a moment is waited for; one that goes on is the user's to stop.
_ORPHAN_S = 5.0
_PAUSE_S = 0.05


def close_dead(workspace: Workspace, book: Book, runs: Sequence[Run], display: Display, stops: StopRequests) -> None:
    """Close the records of unfinished runs of an earlier process: wait for one that a worker still makes, and take in
    one whose logbook process died. Raises StoreError if its command still runs, or another process makes it."""
    from logbook_agent.running.executors.dispatch import attend

    deadline = time.monotonic() + _ORPHAN_S
    for run in runs:
        if run.exit is not None:
            continue
        if run.executor is not None:
            display.progress(f"{run.entry} run {run.run} is still running: waiting for it to end")
            if run.until is not None:
                ask_to_end(workspace, book, run)
        else:
            while (left := book.stage(run)) == "orphaned" and time.monotonic() < deadline:
                time.sleep(_PAUSE_S)
            if left != "gone":
                raise StoreError(
                    f"{run.entry} run {run.run} is still running",
                    cause="its command outlived the logbook process that started it"
                    if left == "orphaned"
                    else "another process runs it",
                    hint=f"logbook cancel {run.entry}" if left == "orphaned" else f"logbook show {run.entry}",
                )
        attend(workspace, book, run, display, stops)


def ask_to_end(workspace: Workspace, book: Book, *runs: Run) -> None:
    """End runs as Ctrl-C would, also commands that outlived their logbook process. Raises UsageError for one of another
    host."""
    from logbook_agent.running.executors.table import executor_of

    by_executor: dict[str, list[Run]] = {}
    for run in runs:
        holder = book.spool(run).holder()
        if run.executor is None and holder is not None:
            check_here(run.entry, holder)
        by_executor.setdefault(run.executor or "", []).append(run)
    for together in by_executor.values():
        executor_of(workspace, together[0]).stop([book.spool(run) for run in together])


def check_here(entry_id: str, holder: Holder) -> None:
    """Raises UsageError for a process of another host, which cannot be ended from here."""
    if holder.host != this_host():
        raise UsageError(
            f"{entry_id} runs on another host",
            cause=f"a process of {holder.host} runs it",
            hint=f"there: logbook cancel {entry_id}",
        )


def terminate(entry_id: str, holder: Holder) -> None:
    """Send TERM to a logbook process that holds a lock. Raises StoreError if it belongs to another user, and UsageError
    on another host."""
    check_here(entry_id, holder)
    try:
        os.kill(holder.pid, signal.SIGTERM)
    except ProcessLookupError:
        return
    except PermissionError as error:
        raise StoreError(
            f"process {holder.pid} cannot be ended: {error.strerror}",
            cause="another user started it",
            hint=f"as that user: kill {holder.pid}",
        ) from error
