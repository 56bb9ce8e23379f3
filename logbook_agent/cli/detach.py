"""`--detach`: a series of runs in a process of its own, independent of the terminal that started it.

The command forks before it does anything. The child carries it out as it always does; until there is an entry, it
prints where its parent does, so that whatever is wrong is seen at once. Then it turns to a log beside the entry and
tells its parent the ID, which prints it and exits. Each run is made by a worker of its own, so that a child that is
killed loses nothing either.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from logbook_agent.cli import draw_plots, ended_by
from logbook_agent.cli.displays import series_display
from logbook_agent.cli.options import Common
from logbook_agent.cli.output import LineDisplay, say
from logbook_agent.model.errors import Locked, LogbookError
from logbook_agent.model.run import Run
from logbook_agent.running.executors import LOCAL
from logbook_agent.running.launch.signals import own_session
from logbook_agent.store.book import Book
from logbook_agent.store.book_runs import going_runs, open_series
from logbook_agent.store.run_files import ERRORS, FINAL, LOG
from logbook_agent.store.spool import SeriesEnd, Spool
from logbook_agent.store.workspace import Workspace

# What the child carries out; its result is what the command would have exited with.
Body = Callable[[LineDisplay], int]


class DetachedDisplay(LineDisplay):
    """Tells the parent process the ID of the entry, and writes to the log of the series from then on."""

    def __init__(self, space: Workspace, tell: int) -> None:
        self._space, self._tell = space, tell
        self.series: Spool | None = None
        self.first_run = 1
        self._numbers: Callable[[], list[int]] = list

    def began(self, entry_id: str) -> None:
        if self.series is not None:
            return  # a further stage of the same sweep
        book = self._space.book(entry_id)
        self._numbers = functools.partial(book.run_numbers, entry_id)
        self.first_run = self.last_run() + 1
        self.series = _taken(book, entry_id)
        log = self.series.files.create_log(self.series.folder / LOG)
        sys.stdout.flush()
        sys.stderr.flush()
        nowhere = os.open(os.devnull, os.O_RDONLY)
        for descriptor, own in ((nowhere, 0), (log, 1), (log, 2)):
            os.dup2(descriptor, own)
        os.close(nowhere)
        os.close(log)
        os.write(self._tell, entry_id.encode())
        os.close(self._tell)

    def last_run(self) -> int:
        """The number of the entry's last run; 0 where there is none."""
        return max(self._numbers(), default=0)


def _taken(book: Book, entry_id: str) -> Spool:
    """The folder of the series, which is this process's from here on. Raises Locked when another one has it."""
    series = book.series(entry_id)
    series.files.make(private=True)
    if series.claim() is None:
        holder = series.holder()
        who = f"pid {holder.pid}" if holder is not None else "another process"
        raise Locked(
            f"{entry_id} is being run by {who}",
            holder=who,
            cause="a detached series of runs of this entry has not ended yet",
            hint=f"logbook wait {entry_id}, or end it: logbook cancel {entry_id}",
        )
    for name in (LOG, FINAL, ERRORS):
        series.files.remove(name)
    return series


def carried_out(
    common: Common,
    name: str,
    body: Body,
    *,
    detach: bool,
    display: AbstractContextManager[LineDisplay] | None = None,
) -> int:
    """Run `body`, the series of runs of the command `name`, here (on a display) or with `detach` in a process of its
    own; returns the exit code of this process."""
    if not detach:
        with display or series_display() as shown:
            return body(shown)
    common.space().executor = LOCAL
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _child(common, body, writer)
    os.close(writer)
    try:
        with os.fdopen(reader) as told:
            entry_id = told.read()
    except KeyboardInterrupt:
        os.kill(child, signal.SIGTERM)
        raise
    if not entry_id:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return code if code >= 0 else 128 - code  # by a signal, as a shell says it
    started(common, name, entry_id, None)
    return 0


def started(common: Common, name: str, entry_id: str, run: Run | None, *, is_going: bool = True) -> None:
    """Say what the command `name` has started; `run` is None for a series. Without `is_going` it has ended already."""
    space = common.space()
    book = space.book(entry_id)
    folder = (book.series(entry_id) if run is None else book.spool(run)).folder
    number = None if run is None else run.run
    data = {"id": entry_id, "run": number, "log": str(folder / LOG), "view": str(book.view_path)}
    # On a terminal, what precedes a run has said so already.
    space.warnings += _met(book, entry_id, number) if common.as_json else ()
    common.emit(name, data, entry_id)
    if not common.as_json and is_going:
        what = f"run {number}" if number is not None else "the series of runs"
        wait, tail = f"logbook wait {entry_id}", f"logbook wait {entry_id} --follow"
        say(f"{what} is detached; to wait for it: {wait}; to see its output: {tail}")


def _met(book: Book, entry_id: str, number: int | None) -> Iterator[str]:
    """What else runs in the logbook while this begins."""
    running = {(one.run.entry, one.run.run) for one in going_runs(book)} - {(entry_id, number)}
    others = sorted({entry for entry, _ in running if number is not None or entry != entry_id} | {*open_series(book)})
    for other in others:
        if other != entry_id:
            yield f"{other} is running, too: both disturb each other's numbers; to wait for it: logbook wait {other}"
        elif number is not None:
            yield f"another run of {entry_id} is going on; to end it: logbook cancel {entry_id}"


def _child(common: Common, body: Body, tell: int) -> None:
    """The process that carries the series out. Does not return."""
    space, status = common.space(), 1
    try:
        own_session()
        display = DetachedDisplay(space, tell)
        try:
            with contextlib.ExitStack() as stack:
                stack.callback(draw_plots)
                status = body(display)
        except (LogbookError, OSError, KeyboardInterrupt) as error:
            status = ended_by(error, as_json=common.as_json)
        except Exception:  # noqa: BLE001 - told, without the secrets that it may quote
            say(traceback.format_exc())
        if display.series is not None:
            first, last = display.first_run, display.last_run()
            end = SeriesEnd(ended=space.stamp(), exit_status=status, first_run=first, last_run=last)
            display.series.put(end)
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)
