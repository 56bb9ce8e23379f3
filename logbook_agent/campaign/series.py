"""A series of runs in one entry: those of `run`, `ab`, `sweep` and `ci`.

Each command plans its runs by (case, side, repeat), and all go one way. A plan is units of slots: the runs of a unit
are compared with one another, so they meet one machine. What the record has of a plan is left out; a slot is made an
order when its turn comes. The series makes the runs, handles requests to stop, keeps the view up to date, and decides
the exit code. Where what comes next follows from the runs there are, one process at a time drives an entry.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct, field, structs

from logbook_agent.campaign.entry_claim import claimed
from logbook_agent.model.entry import Entry
from logbook_agent.model.errors import BudgetSpent
from logbook_agent.model.header import NO_BUDGET
from logbook_agent.model.record import ended_badly, is_made
from logbook_agent.model.run import Run, busy_text
from logbook_agent.pages.views import refresh
from logbook_agent.running.execution import close_dead, make_runs, submit
from logbook_agent.running.launch.process import INTERRUPTED_STATUS, exit_status
from logbook_agent.running.launch.signals import StopRequests
from logbook_agent.running.order import Display, RunPlan, machine_now
from logbook_agent.store.book import Book
from logbook_agent.store.run_files import FINAL
from logbook_agent.store.workspace import Workspace, naming
from logbook_agent.text.phrases import day
from logbook_agent.text.shell_words import command_line

if TYPE_CHECKING:
    from logbook_agent.campaign.code_guard import CodeGuard

# What a planner asks a run for: a command and its repeat, a part of a pair, a run of a recipe's plan.
Slot = TypeVar("Slot")
# The view follows a series this often, not after each of its many runs.
_REFRESH_S = 10.0
# What to do where the machine is busy: with runs that are compared in pairs, and with others.
_PAIRED = "the load affects both sides of a pair, but the pairs will scatter more; wait until it is idle if you can"
_ALONE = "wait until it is idle, or use logbook ab, which puts both sides under the same load"


@contextlib.contextmanager
def begun(
    workspace: Workspace,
    book: Book,
    found: Callable[[], Entry],
    display: Display,
    *,
    another: str | None = None,
) -> Iterator[RunSeries]:
    """A series in the entry that `found` makes or finds. Requests to stop are held from before the entry is there
    until the view tells of its runs.

    With `another`, how to start another entry: what comes next follows from the runs there are, so one process at a
    time makes them, and those whose tool died are closed first. Raises Locked when another process does, or another
    worktree has more of them, StoreError when a command of an earlier one still runs.
    """
    with StopRequests() as stops, contextlib.ExitStack() as stack:
        known = book.names.ids if book.header.limits != NO_BUDGET else None
        entry = found()
        if another is not None:
            stack.enter_context(claimed(workspace, book, entry, another))
        display.began(entry.id)
        if another is not None:
            close_dead(workspace, book, book.runs(entry.id), display, stops)
            if not (left := book.series(entry.id)).is_held() and not left.has(FINAL):
                # Of a detached series that was cut off: this one goes on with it.
                book.files.remove_tree(left.folder)
        series = RunSeries(workspace, book, entry, display, stops, another is not None)
        # After the view was refreshed: somebody may have closed it meanwhile.
        stack.callback(lambda: workspace.warnings.extend(_closed(workspace, book)))
        stack.callback(series.refresh)
        stack.callback(series.release)
        try:
            yield series
        except BudgetSpent:
            # Another process got the last run after this one had made an entry for it.
            if known is not None and entry.id not in known and not book.run_numbers(entry.id):
                book.files.remove(book.entry_path(entry.id))
            raise


def _closed(workspace: Workspace, book: Book) -> list[str]:
    """That the logbook was closed, and how to open it again."""
    if book.header.closing is None:
        return []
    closed = day(book.header.closing.at, book.header.zone)
    again = command_line(["logbook", *naming(workspace, book), "close", "--reopen"])
    return [f"{book.header.topic} was closed on {closed}; to open it again: {again}"]


class RunSeries(Struct, eq=False):
    """Makes runs in one entry. `runs` are those just begun; `is_interrupted` says whether a request to stop cut one off
    or came before one, `refused` why the budget allows no further one. `held` are the runs of setup whose commands
    stay. `guard` sees that the code stays as it is. `waits`: a refused start is tried again already before a run was
    made."""

    workspace: Workspace
    book: Book
    entry: Entry
    display: Display
    stops: StopRequests
    waits: bool
    runs: list[Run] = field(default_factory=list)
    held: list[Run] = field(default_factory=list)
    is_interrupted: bool = False
    refused: BudgetSpent | None = None
    guard: CodeGuard | None = None
    _refreshed: float = field(default_factory=time.monotonic)

    def each(
        self,
        units: Iterable[Sequence[Slot]],
        order: Callable[[Slot], RunPlan],
        *,
        together: bool = False,
        at_most: int = 1,
    ) -> Iterator[tuple[Slot, Run]]:
        """Make the runs that a planner wants, unit by unit, and yield each as it has ended: the next slot is asked for
        afterwards. It ends early after a run that was cut off, and at a request to stop. `together`: a unit is sent to
        its executor as a whole, which makes `at_most` of its runs at a time."""
        for slots in units:
            for sent in filter(None, [slots] if together or at_most > 1 else [[slot] for slot in slots]):
                if self.is_stopped():
                    return
                orders, last = [*map(order, sent)], dict[int, Run]()
                for place, run in self._made(orders, at_most):
                    last[place] = run
                    if is_made(run):
                        yield sent[place], run
                # One that warms up may fail to start: what follows says whether that matters.
                is_lost = not all(is_made(run) or orders[place].discarded for place, run in last.items())
                # At a request to stop, some of many are never sent.
                if self.refused is not None or is_lost or (at_most > 1 and self.is_stopped()):
                    return

    def own(self, orders: Iterable[RunPlan], *, shown: bool = False) -> Run | None:
        """Make the commands of setup or teardown, after a line for each (`shown`: with the command), and return the
        first run that ended badly. Of setup nothing follows that one, or a request to stop; teardown, whose orders are
        `always`, is made whole."""
        bad: Run | None = None
        for planned in orders:
            order, command = structs.replace(planned, entry_id=self.entry.id), planned.command
            if order.always:
                self.stops.take()
            elif bad is not None or self.is_stopped():
                break
            env = {name: text for name, text in command.env.items() if name != "PATH"}
            line = f"{(command.label or '').replace(': ', ' on ')}: {command.shown(env)}"
            self.display.progress(line if shown else command.label or "")
            ended = [run for _, run in self._made([order], is_own=True)] if order.until is None else self._held(order)
            if order.until is not None and not ended:
                continue
            # The run before it, where the budget refuses this one.
            run = (ended or self.runs)[-1]
            bad = run if bad is None and (not is_made(run) or ended_badly(run)) else bad
        return bad

    def _held(self, order: RunPlan) -> list[Run]:
        """Start a command that stays, and wait until it is ready; the run as it ended, where it ended before."""
        from logbook_agent.campaign.held_setup import ready

        self.held.append(submit(self.workspace, self.book, order))
        run = ready(self.workspace, self.book, self.held[-1], self.stops)
        if run.exit is not None:
            self.held.pop()
            self.runs.append(run)
            return [run]
        return []

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

    def _made(self, orders: Sequence[RunPlan], at_most: int = 1, *, is_own: bool = False) -> Iterator[tuple[int, Run]]:
        """Runs as they ended; one that was lost is made again, and the last one counts. One at a time is yielded when
        it is known that it may count. A spent budget ends the series; before its first run it is an error."""
        self._before(orders[0])
        begun, ended = len(self.runs), []
        waits = self.waits or at_most > 1 or any(map(is_made, self.runs))
        try:
            found = make_runs(self.workspace, self.book, orders, self.display, self.stops, at_most=at_most, waits=waits)
            for place, run in found:
                self.runs.append(run)
                if at_most > 1:
                    self._refresh_now_and_then()
                    yield place, run
                else:
                    ended.append((place, run))
            if self.guard is not None:
                for order in orders:
                    self.guard.check(order.command, is_setup=is_own)
        except BudgetSpent as error:
            if not self.runs:
                raise
            self.refused = error
        cut = any(run.exit is not None and run.exit.interrupted for run in self.runs[begun:])
        self.is_interrupted = self.is_interrupted or cut
        yield from ended

    def _before(self, order: RunPlan) -> None:
        """What precedes every run: the view, and before the first a word about a busy machine, and what to do."""
        self._refresh_now_and_then()
        if not self.runs and (busy := busy_text([order.command.contention_of(machine_now(self.workspace))])):
            advice = _PAIRED if self.entry.comparison is not None else _ALONE
            self.display.progress(f"warning: this machine is busy ({busy}): {advice}")

    # -- requests to stop, and the view -----------------------------------------------------------------

    def is_stopped(self) -> bool:
        """Whether no further run is to be made. A request to stop is an interruption from here on."""
        self.is_interrupted = self.is_interrupted or self.stops.count > 0
        return self.is_interrupted or self.refused is not None

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
        """Whether the series ended before its plan did: by a request to stop, or because a run could not be made."""
        exits = [run.exit for run in self.runs if run.exit is not None]
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
        counted = [run for run in self.runs if is_made(run) or run is self.runs[-1]]
        return next(filter(None, (exit_status(run.exit) for run in counted if run.exit is not None)), 0)

    def rest(self, made: int, total: object, again: str, *, what: str = "runs") -> str:
        """What is said of a series that did not come to its end; `again` is what to type."""
        if self.is_interrupted:
            return f"interrupted after {made} of {total} {what}; to run the rest: {again}"
        if (error := self.refused) is not None:
            return f"stopped after {made} of {total} {what}; {error.said}: {error.hint}; then, for the rest: {again}"
        cut_off = next((one for one in reversed(self.runs) if not is_made(one) and one.problems), None)
        why = f" (run {cut_off.run} {cut_off.problems[-1]})" if cut_off is not None else ""
        return f"stopped after {made} of {total} {what}{why}; to run the rest: {again}"
