"""`doctor --stop ID`: end the command of a run whose tool is gone, and finish the record."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from logbook_agent.model.errors import StoreError, UsageError
from logbook_agent.model.run import Process, Run
from logbook_agent.pages.views import changing
from logbook_agent.running.launch.job import Graces
from logbook_agent.running.launch.ladder import Ladder, steps
from logbook_agent.running.recover import finish
from logbook_agent.store.book import Book
from logbook_agent.store.liveness import life
from logbook_agent.store.processes import alive
from logbook_agent.store.workspace import Workspace

_PAUSE_S = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """A run that was ended; `signal` is the last one that was sent (None: it ended before the first)."""

    run: Run
    signal: str | None


def stop(
    workspace: Workspace,
    book: Book,
    entry_id: str,
    *,
    graces: Graces | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> list[Stopped]:
    """End every orphaned run of an entry: INT to its process group, then TERM, then KILL."""
    entry_id = book.resolve(entry_id)
    orphans = [run for run in book.runs(entry_id) if run.exit is None and life(run) == "child"]
    if not orphans:
        raise _nothing(book, entry_id)
    stamp = workspace.now().strftime("%Y%m%dT%H%M%S%f")
    found = []
    with changing(workspace, book):
        for run in orphans:
            if run.child is None:
                continue
            last = _end(run.child, Ladder(steps(graces or Graces())), clock, sleep)
            name = signal.Signals(last).name if last is not None else None
            how = f"`doctor --stop` ended the command ({name})" if name else "the command ended"
            done = finish(workspace, book, stamp, entry_id, run.run, f"its tool was gone; {how}")
            found.append(Stopped(run=done or run, signal=name))
    return found


def _end(child: Process, ladder: Ladder, clock: Callable[[], float], sleep: Callable[[float], None]) -> int | None:
    """Signals to the group of `child` until it has ended; the last signal."""
    last: int | None = None
    ladder.begin(clock())
    while alive(child.pid, child.started):
        now = clock()
        if ladder.exhausted(now):
            raise StoreError(
                f"process {child.pid} does not end",
                cause="it was killed, and the kernel has not let go of it",
                hint=f"look at it: ps -o stat,wchan,cmd -p {child.pid}",
            )
        due = ladder.due(now)
        if due is not None:
            last = due
            _send(child.pid, due)
        sleep(_PAUSE_S)
    # The leader is gone; what is left of its group has had its warning.
    _send(child.pid, signal.SIGKILL)
    return last


def _send(pid: int, number: int) -> None:
    """`run` gives every command a group of its own, named by the command's pid."""
    try:
        os.killpg(pid, number)
        if number == signal.SIGTERM:
            os.killpg(pid, signal.SIGCONT)
    except ProcessLookupError:
        pass
    except PermissionError as error:
        raise StoreError(
            f"process {pid} cannot be ended: {error.strerror}",
            cause="another user started it",
            hint=f"as that user: kill -INT -- -{pid}",
        ) from error


def _nothing(book: Book, entry_id: str) -> UsageError:
    states = [(run, life(run)) for run in book.runs(entry_id) if run.exit is None]
    for run, state in states:
        if state == "tool" and run.tool is not None:
            return UsageError(
                f"{entry_id} is not orphaned",
                cause=f"its tool (pid {run.tool.pid}) manages run {run.run}",
                hint=f"end it as Ctrl-C does: kill -INT {run.tool.pid}",
            )
        if state == "elsewhere":
            return UsageError(
                f"{entry_id} runs on another host",
                cause=f"{run.host.name} started run {run.run}",
                hint=f"there: logbook doctor --stop {entry_id}",
            )
    hint = "finish its record with: logbook doctor --fix" if states else f"logbook show {entry_id}"
    return UsageError(f"{entry_id} has no running command", cause="none of its processes is alive", hint=hint)
