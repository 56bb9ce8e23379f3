"""A series of runs in one entry: how `run`, `ab` and `sweep` make them. Each of the three says what comes next."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

from logbook_agent.model.comparison import Part
from logbook_agent.model.entry import Entry
from logbook_agent.model.errors import Locked, ToolError
from logbook_agent.model.load import busy_text
from logbook_agent.model.record import is_made
from logbook_agent.model.run import Run, Scalar
from logbook_agent.pages.views import refresh
from logbook_agent.running.beside import machine_now
from logbook_agent.running.endings import close_dead
from logbook_agent.running.execution import run as make_run
from logbook_agent.running.execution import submit
from logbook_agent.running.launch.process import INTERRUPTED_STATUS, exit_status
from logbook_agent.running.launch.signals import StopRequests
from logbook_agent.running.order import Display, RunPlan
from logbook_agent.running.prepare import Command
from logbook_agent.store.book import Book
from logbook_agent.store.files import locked, make_folder
from logbook_agent.store.workspace import Workspace

# The view follows a series this often, not after each of its many runs.
_REFRESH_S = 10.0
# What to do where the machine is busy, and what not to say twice in one invocation.
ADVICE = "wait until it is idle, or use logbook ab, which puts both sides under the same load"
_SAID_BUSY = "said that the machine is busy"


class NotCounted(ToolError):
    """Raised for a run that must not count, because of what was found before or after it."""


class Series:
    """Runs of one entry, made one after another. `runs` are those just begun; `is_interrupted` says whether a request
    to stop cut one off or came before one. `around` is entered for each run, and may raise NotCounted."""

    def __init__(
        self,
        workspace: Workspace,
        book: Book,
        entry: Entry,
        display: Display,
        stops: StopRequests,
        advice: str,
        waits: bool,
    ) -> None:
        self.workspace, self.book, self.entry = workspace, book, entry
        self.runs: list[Run] = []
        self.is_interrupted = False
        self.display, self._stops, self._advice = display, stops, advice
        # Whether a refused start is tried again already before a run was made.
        self._waits = waits
        self._refreshed = time.monotonic()
        self.around: Callable[[Command], AbstractContextManager[object]] = contextlib.nullcontext

    def make(
        self,
        command: Command,
        config: Mapping[str, Scalar],
        *,
        repeat: int | None = None,
        part: Part | None = None,
        timeout_s: float | None = None,
        discarded: bool = False,
        always: bool = False,
    ) -> Run | None:
        """Make one run; None when it was cut off, or not begun because of a request to stop: the series ends there.
        With `always` requests that came before it are ignored; `discarded`: it warms up and does not count."""
        if always:
            self._stops.take()
        elif self.is_stopped():
            return None
        if time.monotonic() - self._refreshed > _REFRESH_S:
            self.refresh()
        # Where a compiler is asked what a program would take, the load of this machine changes nothing.
        if not self.runs and not self.entry.is_prediction:
            self._say_if_busy(command)
        plan = RunPlan(
            command=command,
            entry_id=self.entry.id,
            repeat=repeat if part is None else part.pair,
            part=part,
            discarded=discarded,
            timeout_s=timeout_s,
            config=dict(config),
        )
        self._check_lease(command)
        waits = self._waits or any(map(is_made, self.runs))
        with self.around(command):
            for run in make_run(self.workspace, self.book, plan, self.display, self._stops, waits=waits):
                self.runs.append(run)
        run = self.runs[-1]
        self.is_interrupted = self.is_interrupted or (run.exit is not None and run.exit.interrupted)
        return run if is_made(run) else None

    def make_all(
        self,
        wanted: Sequence[RunPlan],
        *,
        at_most: int,
    ) -> Iterator[tuple[int, Run]]:
        """Have an executor make runs at once; those that were made, with their places, as they end."""
        from logbook_agent.running.executors.making import make_all

        # Of an earlier process, all may be made but what follows them.
        name = next(filter(None, (plan.command.executor for plan in wanted)), None)
        for place, run in (
            ()
            if name is None
            else make_all(
                self.workspace,
                self.book,
                wanted,
                name,
                self.display,
                self._stops,
                at_most=at_most,
                check=self._check_lease,
            )
        ):
            self.runs.append(run)
            if time.monotonic() - self._refreshed > _REFRESH_S:
                self.refresh()
            if is_made(run):
                yield place, run
        self.is_interrupted = (
            self.is_interrupted
            or self._stops.count > 0
            or any(run.exit is not None and run.exit.interrupted for run in self.runs)
        )

    def send(self, command: Command, config: Mapping[str, Scalar], *, timeout_s: float | None = None) -> Run:
        """Submit one run and return it as it goes on."""
        self._say_if_busy(command)
        plan = RunPlan(command=command, entry_id=self.entry.id, timeout_s=timeout_s, config=dict(config))
        self._check_lease(command)
        self.runs.append(submit(self.workspace, self.book, plan))
        return self.runs[-1]

    def _check_lease(self, command: Command) -> None:
        """Raises UsageError where a run needs a lease that is not there."""
        if command.lease is not None:
            from logbook_agent.entries.leases import check_lease

            check_lease(self.workspace, self.book, command.lease)

    def _say_if_busy(self, command: Command) -> None:
        """Before the first run of an invocation: that others use the machine, and what to do."""
        if self.workspace.made.get(_SAID_BUSY):
            return
        busy = busy_text([command.met(machine_now(self.workspace, self.book))])
        self.workspace.made[_SAID_BUSY] = True
        if busy:
            self.display.progress(f"warning: this machine is busy ({busy}): {self._advice}")

    def is_stopped(self) -> bool:
        """Whether a request to stop came, asked before a further run: it is an interruption from here on."""
        self.is_interrupted = self.is_interrupted or self._stops.count > 0
        return self.is_interrupted

    def refresh(self, *others: str) -> None:
        """Bring the view up to date, with what it shows of other entries."""
        refresh(self.workspace, self.book, (*self.entry.touches, *others))
        # What is wrong with the view is told once, however often it was met.
        self.workspace.warnings[:] = dict.fromkeys(self.workspace.warnings)
        self._refreshed = time.monotonic()

    @property
    def is_cut_off(self) -> bool:
        """Whether the series ended before its plan did: by a request to stop, or because a run could not be made."""
        exits = [run.exit for run in self.runs if run.exit is not None]
        return self.is_interrupted or any(e.never_started for e in exits) or any(e.is_cut_off for e in exits[-1:])

    @property
    def exit_status(self) -> int:
        """What the command exits with: 130 when it was interrupted, else the first status of a run that is not 0. Runs
        that were lost and made again do not count."""
        if self.is_interrupted:
            return INTERRUPTED_STATUS
        counted = [run for run in self.runs if is_made(run) or run is self.runs[-1]]
        return next(filter(None, (exit_status(run.exit) for run in counted if run.exit is not None)), 0)

    def rest(self, made: int, total: object, again: str, *, what: str = "runs") -> str:
        """What is said of a series that did not come to its end; `again` is what to type."""
        if self.is_interrupted:
            return f"interrupted after {made} of {total} {what}; to make the rest: {again}"
        cut_off = next((run for run in reversed(self.runs) if not is_made(run) and run.problems), None)
        why = f" (run {cut_off.run} {cut_off.problems[-1]})" if cut_off is not None else ""
        return f"stopped after {made} of {total} {what}{why}; to make the rest: {again}"


@contextlib.contextmanager
def series(
    workspace: Workspace,
    book: Book,
    found: Callable[[], Entry],
    display: Display,
    *,
    on: str | None = None,
    another: str | None = None,
    advice: str = ADVICE,
) -> Iterator[Series]:
    """A series in the entry that `found` makes or finds. Requests to stop are held from before the entry is there until
    the view tells of its runs.

    With `another`, how to start another one: what comes next follows from the runs there are, so one process at a time
    makes them, and those whose tool died are closed first. Raises Locked when another process does, StoreError when a
    command of an earlier one still runs. `advice`: what to do where the machine is busy. `on`: the executor; UsageError
    where it needs a lease that is not active.
    """
    if on is not None:
        from logbook_agent.entries.leases import check_executor

        check_executor(workspace, book, on)
    with StopRequests() as stops, contextlib.ExitStack() as stack:
        entry = found()
        if another is not None:
            _take_up(workspace, book, entry, another, stack)
        display.began(entry.id)
        if another is not None:
            close_dead(workspace, book, book.runs(entry.id), display, stops)
        made = Series(workspace, book, entry, display, stops, advice, waits=another is not None)
        stack.callback(made.refresh)
        yield made


def _take_up(workspace: Workspace, book: Book, entry: Entry, another: str, stack: contextlib.ExitStack) -> None:
    """Hold the lock of an entry until the stack is left."""
    make_folder(book.open_folder, within=book.root)
    place = book.open_folder / f".{entry.id}.sweep.lock"
    try:
        stack.enter_context(locked(place, within=book.root, timeout_s=0))
    except Locked as error:
        # Nothing hangs in a second terminal: the runs are being made.
        raise Locked(
            f"{entry.id} is being run by {error.holder}",
            holder=error.holder,
            cause=f"{entry.title!r} is in progress there, and only one process at a time can run an entry",
            hint=f"wait until it ends (progress: logbook show {entry.id}), or start another: {another}",
        ) from error
