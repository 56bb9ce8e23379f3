"""The driver of every series of runs: of `run`, `ab`, `sweep` and `ci`.

A design says which run comes next, from what was measured so far: it is an iterable of work orders. The driver makes
its runs in one entry, handles requests to stop, keeps the view up to date, and decides the exit code. Where what comes
next follows from the runs there are, one process at a time drives an entry.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from logbook_agent.model.budget import NO_BUDGET
from logbook_agent.model.entry import Entry
from logbook_agent.model.errors import BudgetSpent, Locked, ToolError
from logbook_agent.model.load import busy_text
from logbook_agent.model.record import ended_badly, is_made
from logbook_agent.model.run import Run
from logbook_agent.pages.views import refresh
from logbook_agent.running.endings import close_dead
from logbook_agent.running.execution import make_runs, submit
from logbook_agent.running.launch.process import INTERRUPTED_STATUS, exit_status
from logbook_agent.running.launch.signals import StopRequests
from logbook_agent.running.order import Display, RunPlan, machine_now
from logbook_agent.running.prepare import Command
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace

# A series of runs that may each be made after the one before; it may follow from what was measured so far.
Design = Iterable[RunPlan]
# The view follows a series this often, not after each of its many runs.
_REFRESH_S = 10.0
# What to do where the machine is busy.
ADVICE = "wait until it is idle, or use logbook ab, which puts both sides under the same load"


class NotCounted(ToolError):
    """Raised for a run that must not count, because of what was found before or after it."""


@contextlib.contextmanager
def driving(
    workspace: Workspace,
    book: Book,
    found: Callable[[], Entry],
    display: Display,
    *,
    another: str | None = None,
    advice: str = ADVICE,
) -> Iterator[Driver]:
    """A driver for the entry that `found` makes or finds. Requests to stop are held from before the entry is there
    until the view tells of its runs.

    With `another`, how to start another entry: what comes next follows from the runs there are, so one process at a
    time makes them, and those whose tool died are closed first. Raises Locked when another process does, StoreError
    when a command of an earlier one still runs. `advice`: what to do where the machine is busy.
    """
    with StopRequests() as stops, contextlib.ExitStack() as stack:
        known = book.names.ids if book.header.limits != NO_BUDGET else None
        entry = found()
        if another is not None:
            _lock(book, entry, another, stack)
        display.began(entry.id)
        if another is not None:
            close_dead(workspace, book, book.runs(entry.id), display, stops)
        driver = Driver(workspace, book, entry, display, stops, advice, another is not None)
        stack.callback(driver.refresh)
        stack.callback(driver.release)
        try:
            yield driver
        except BudgetSpent:
            # Another process got the last run after this one had made an entry for it.
            if known is not None and entry.id not in known and not book.run_numbers(entry.id):
                book.files.remove(book.entry_path(entry.id))
            raise


@dataclass(eq=False, slots=True)
class Driver:
    """Makes the runs of designs in one entry. `runs` are those just begun; `is_interrupted` says whether a request to
    stop cut one off or came before one, `refused` why the budget allows no further one. `held` are the runs of setup
    whose commands stay. `around` is entered for each run, and may raise NotCounted. `waits`: a refused start is tried
    again already before a run was made."""

    workspace: Workspace
    book: Book
    entry: Entry
    display: Display
    stops: StopRequests
    advice: str
    waits: bool
    runs: list[Run] = field(default_factory=list)
    held: list[Run] = field(default_factory=list)
    is_interrupted: bool = False
    refused: BudgetSpent | None = None
    around: Callable[[Command], AbstractContextManager[object]] = contextlib.nullcontext
    _refreshed: float = field(default_factory=time.monotonic)

    def each(self, design: Design, *, at_most: int = 1) -> Iterator[tuple[int, Run]]:
        """Make the runs of a design, one after another, and yield each with its place as it has ended: the design is
        asked for the next one afterwards. It ends early after a run that was cut off, and at a request to stop, which
        orders that are to be made `always` ignore. More than one at a time: an executor makes them, and all that the
        design has are asked for first."""
        if at_most > 1:
            yield from self._at_once(list(design), at_most)
            return
        for place, order in enumerate(design):
            if order.always:
                self.stops.take()
            elif self.is_stopped():
                return
            made = self._make(order)
            if self.refused is not None or not is_made(made):
                return
            yield place, made

    def own(self, orders: Iterable[tuple[str, RunPlan]]) -> Run | None:
        """Make the commands of setup or teardown, each after its line is shown, and return the first run that ended
        badly. Of setup nothing follows that one, or a request to stop; teardown, whose orders are `always`, is made
        whole."""
        bad: Run | None = None
        for line, order in orders:
            if order.always:
                self.stops.take()
            elif bad is not None or self.is_stopped():
                break
            self.display.progress(line)
            made = self._make(order) if order.until is None else self._hold(order)
            if made.exit is None:
                continue
            bad = made if bad is None and (not is_made(made) or ended_badly(made)) else bad
        return bad

    def _hold(self, order: RunPlan) -> Run:
        """Start a command that stays, and wait until it is ready; the run as it ended, where it ended before."""
        from logbook_agent.campaign.held_setup import ready

        self.held.append(submit(self.workspace, self.book, order))
        run = ready(self.workspace, self.book, self.held[-1], self.stops)
        if run.exit is not None:
            self.held.pop()
            self.runs.append(run)
        return run

    def release(self) -> None:
        """End the commands of setup that stay, the last one first, and wait for their ends."""
        while self.held:
            from logbook_agent.campaign.held_setup import end

            end(self.workspace, self.book, self.held.pop(), self.display, self.stops)

    def send(self, order: RunPlan) -> Run:
        """Submit one run and return it as it goes on."""
        self._before(order)
        self.runs.append(submit(self.workspace, self.book, order))
        return self.runs[-1]

    def _make(self, order: RunPlan) -> Run:
        """One run as it ended; one that was lost is made again. The run before it, where the budget refuses it."""
        self._before(order)
        waits = self.waits or any(map(is_made, self.runs))
        with self.around(order.command), self._refusing():
            for _, made in make_runs(self.workspace, self.book, [order], self.display, self.stops, waits=waits):
                self.runs.append(made)
        self._note_interruption(self.runs[-1:])
        return self.runs[-1]

    @contextlib.contextmanager
    def _refusing(self) -> Iterator[None]:
        """A spent budget ends the series; before its first run it is an error."""
        try:
            yield
        except BudgetSpent as error:
            if not self.runs:
                raise
            self.refused = error

    def _at_once(self, orders: Sequence[RunPlan], at_most: int) -> Iterator[tuple[int, Run]]:
        ended = make_runs(self.workspace, self.book, orders, self.display, self.stops, at_most=at_most, waits=True)
        with self._refusing():
            for place, made in ended:
                self.runs.append(made)
                self._refresh_now_and_then()
                if is_made(made):
                    yield place, made
        self._note_interruption(self.runs)
        self.is_stopped()

    def _before(self, order: RunPlan) -> None:
        """What precedes every run: the view, and a word about a busy machine."""
        self._refresh_now_and_then()
        if not self.runs:
            self._say_if_busy(order.command)

    def _say_if_busy(self, command: Command) -> None:
        """Before the first run: that others use the machine, and what to do."""
        busy = busy_text([command.contention_of(machine_now(self.workspace, self.book))])
        if busy:
            self.display.progress(f"warning: this machine is busy ({busy}): {self.advice}")

    # -- requests to stop, and the view -----------------------------------------------------------------

    def is_stopped(self) -> bool:
        """Whether no further run is to be made. A request to stop is an interruption from here on."""
        self.is_interrupted = self.is_interrupted or self.stops.count > 0
        return self.is_interrupted or self.refused is not None

    def _note_interruption(self, runs: Iterable[Run]) -> None:
        cut = any(made.exit is not None and made.exit.interrupted for made in runs)
        self.is_interrupted = self.is_interrupted or cut

    def refresh(self) -> None:
        """Bring the view up to date."""
        refresh(self.workspace, self.book)
        # What is wrong with the view is told once, however often it was met.
        self.workspace.warnings[:] = dict.fromkeys(self.workspace.warnings)
        self._refreshed = time.monotonic()

    def _refresh_now_and_then(self) -> None:
        if time.monotonic() - self._refreshed > _REFRESH_S:
            self.refresh()

    # -- how it ended -----------------------------------------------------------------------------------

    @property
    def is_cut_off(self) -> bool:
        """Whether the series ended before its design did: by a request to stop, or because a run could not be made."""
        exits = [made.exit for made in self.runs if made.exit is not None]
        is_ended = self.is_interrupted or self.refused is not None
        return is_ended or any(e.never_started for e in exits) or any(e.is_cut_off for e in exits[-1:])

    @property
    def exit_status(self) -> int:
        """What the command exits with: 130 when it was interrupted, 2 when the budget is spent, else the first status
        of a run that is not 0. Runs that were lost and made again do not count."""
        if self.is_interrupted:
            return INTERRUPTED_STATUS
        if self.refused is not None:
            return self.refused.exit_code
        counted = [made for made in self.runs if is_made(made) or made is self.runs[-1]]
        return next(filter(None, (exit_status(made.exit) for made in counted if made.exit is not None)), 0)

    def rest(self, made: int, total: object, again: str, *, what: str = "runs") -> str:
        """What is said of a series that did not come to its end; `again` is what to type."""
        if self.is_interrupted:
            return f"interrupted after {made} of {total} {what}; to run the rest: {again}"
        if (error := self.refused) is not None:
            return f"stopped after {made} of {total} {what}; {error.said}: {error.hint}; then, for the rest: {again}"
        cut_off = next((one for one in reversed(self.runs) if not is_made(one) and one.problems), None)
        why = f" (run {cut_off.run} {cut_off.problems[-1]})" if cut_off is not None else ""
        return f"stopped after {made} of {total} {what}{why}; to run the rest: {again}"


def _lock(book: Book, entry: Entry, another: str, stack: contextlib.ExitStack) -> None:
    """Hold the lock of an entry, which one process at a time has, until the stack is left. Raises Locked."""
    book.files.make(book.open_folder)
    place = book.open_folder / f".{entry.id}.sweep.lock"
    try:
        stack.enter_context(book.files.lock(place, timeout_s=0))
    except Locked as error:
        # Nothing hangs in a second terminal: the runs are being made.
        raise Locked(
            f"{entry.id} is being run by {error.holder}",
            holder=error.holder,
            cause=f"{entry.title!r} is in progress there, and only one process at a time can run an entry",
            hint=f"wait until it ends (progress: logbook show {entry.id}), or start another: {another}",
        ) from error
