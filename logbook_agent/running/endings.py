"""Stops a run, whether another process of this tool or a worker executes it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence

from logbook_agent.model.errors import StoreError, UsageError
from logbook_agent.model.run import Process, Run
from logbook_agent.running.launch.family import end_group
from logbook_agent.running.launch.signals import StopRequests
from logbook_agent.running.order import Display
from logbook_agent.running.recovery import finish
from logbook_agent.store.book import Book
from logbook_agent.store.processes import alive
from logbook_agent.store.workspace import Workspace

# A command that outlived its tool by a moment is waited for; one that goes on is the user's to stop.
_ORPHAN_S = 5.0
_PAUSE_S = 0.05


def close_dead(workspace: Workspace, book: Book, runs: Sequence[Run], display: Display, stops: StopRequests) -> None:
    """Close the records of unfinished runs of an earlier process: wait for one that a worker still makes, and finish
    one whose logbook process died from its log. Raises StoreError if its command still runs, or another process makes
    it."""
    stamp = workspace.moment()
    deadline = time.monotonic() + _ORPHAN_S
    for run in runs:
        if run.exit is not None:
            continue
        if run.executor is not None:
            from logbook_agent.running.executors.dispatch import attend

            display.progress(f"{run.entry} run {run.run} is still running: waiting for it to end")
            if run.until is not None:
                ask_to_end(workspace, book, run)
            attend(workspace, book, run, display, stops)
            continue
        while (left := book.life(run)) == "child" and time.monotonic() < deadline:
            time.sleep(_PAUSE_S)
        if left != "gone":
            raise StoreError(
                f"{run.entry} run {run.run} is still running",
                cause="its command outlived the logbook process that started it"
                if left == "child"
                else "another process runs it",
                hint=f"logbook cancel {run.entry}" if left == "child" else f"logbook show {run.entry}",
            )
        finish(workspace, book, stamp, run.entry, run.run, "the series of runs was cut off")


def ask_to_end(workspace: Workspace, book: Book, run: Run) -> None:
    """End a run as Ctrl-C would. A command that outlived its logbook process is ended here, and its record with it.

    Raises UsageError for a run of another host.
    """
    if run.executor is not None:
        from logbook_agent.running.executors.table import executor_of

        executor_of(workspace, run).stop(book.spool(run))
        return
    life = book.life(run)
    if life == "elsewhere":
        raise UsageError(
            f"{run.entry} runs on another host",
            cause=f"{run.host.name} started run {run.run}",
            hint=f"there: logbook cancel {run.entry}",
        )
    if life == "child" and run.child is not None:
        last = end_group(run.child, run.name)
        how = f"`logbook cancel` ended the command ({signal.Signals(last).name})" if last else "the command ended"
        finish(workspace, book, workspace.moment(), run.entry, run.run, f"its tool was gone; {how}")
    elif run.tool is not None and run.tool.started is not None and alive(run.tool.pid, run.tool.started):
        terminate(run.tool)


def terminate(process: Process) -> None:
    """Send TERM to a logbook process, if it is still there. Raises StoreError if it belongs to another user."""
    try:
        os.kill(process.pid, signal.SIGTERM)
    except ProcessLookupError:
        return
    except PermissionError as error:
        raise StoreError(
            f"process {process.pid} cannot be ended: {error.strerror}",
            cause="another user started it",
            hint=f"as that user: kill {process.pid}",
        ) from error
