"""Many runs at once, on the machines of one executor.

Runs with the same pin are compared with one another, so they are made on one machine, one after another and in their
order. Where that cannot be had, the machines must be declared to be equal.
"""

from __future__ import annotations

import select
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from logbook_agent.model.errors import ToolError, UsageError
from logbook_agent.model.run import Run
from logbook_agent.running.execution import Display, RunPlan
from logbook_agent.running.executors.client import how_far
from logbook_agent.running.executors.contract import OVER, Batch, Executor, Pins, Single, Stage
from logbook_agent.running.executors.intake import take_in_all
from logbook_agent.running.executors.making import LOST_AGAIN
from logbook_agent.running.executors.sending import Sending
from logbook_agent.running.executors.table import executor_named, executor_of, patience_of, pool_of
from logbook_agent.running.launch.signals import StopRequests
from logbook_agent.store.book import Book
from logbook_agent.store.spool import Spool
from logbook_agent.store.workspace import Workspace

# How long a look at all of them is apart from the next.
_PAUSE_S = 0.5
# So many are submitted together: each holds a file open until it is.
_TOGETHER = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """A run to be made, and what it is pinned to."""

    plan: RunPlan
    pin: str | None = None


def check_parallel(workspace: Workspace, name: str | None, at_most: int) -> None:
    """Raises UsageError where runs cannot be made at once without sharing a machine or falling apart."""
    if at_most < 1:
        raise UsageError(
            f"--parallel {at_most}: expected 1 or more",
            cause="it is the number of runs at the same time",
            hint="--parallel 2",
        )
    if at_most == 1:
        return
    if name is None:
        raise UsageError(
            "--parallel needs an executor on another machine",
            cause="runs at the same time on this machine would disturb each other's measurements",
            hint="add --on NAME; logbook executors lists the names",
        )
    executor = executor_named(workspace, name)
    if isinstance(executor, Batch | Pins | Single) or pool_of(workspace, name) is not None:
        return
    raise UsageError(
        f"{name} cannot run several commands at once",
        cause="runs that are compared must be on the same machine, and this executor cannot choose the machine",
        hint=f"if its machines are equal and no two runs share one, set equivalent = true in [executors.{name}]",
    )


def make_all(
    workspace: Workspace,
    book: Book,
    wanted: Sequence[Pinned],
    name: str,
    at_most: int,
    display: Display,
    stops: StopRequests,
) -> Iterator[tuple[int, Run]]:
    """Make runs, `at_most` at a time, and yield each with its place in `wanted` when it has ended. A lost run is
    yielded, too, and made again. A request to stop ends the runs in progress. After a worker that cannot start, no
    further run is submitted."""
    executor = executor_named(workspace, name)
    batch = _Batches(workspace, book, wanted, name, at_most, executor)
    told: set[str | None] = {None}
    is_ending = False
    while batch.going or batch.sending or (batch.todo and not is_ending):
        looked = time.monotonic()
        batch.submit(display, is_ending=is_ending)
        if stops.take():
            is_ending = True
            for run in batch.going.values():
                executor_of(workspace, run).stop(book.spool(run))
        news = batch.news()
        found = batch.ended([run for _, run in news])
        for (place, run), (ended, trouble) in zip(news, found, strict=True):
            if trouble not in told:
                told.add(trouble)
                display.progress(f"{run.entry} run {run.run}: {trouble}")
            if ended is None:
                continue
            again = batch.over(place, ended, is_ending=is_ending)
            is_ending = is_ending or (ended.exit is not None and ended.exit.never_started)
            yield place, ended
            if again:
                display.progress(f"{ended.entry} run {ended.run} was lost; retrying")
        # Where one has ended, another may be submitted at once.
        pause_s = 0.0 if any(ended for ended, _ in found) else max(0.0, looked + _PAUSE_S - time.monotonic())
        if batch.going and select.select([stops.wakeup], [], [], pause_s)[0]:
            stops.clear_wakeup()


class _Batches:
    """Which runs are being made, and which are still to be."""

    def __init__(
        self,
        workspace: Workspace,
        book: Book,
        wanted: Sequence[Pinned],
        name: str,
        at_most: int,
        executor: Executor,
    ) -> None:
        self._workspace, self._book, self._wanted, self._name = workspace, book, wanted, name
        self._at_most, self._executor = at_most, executor
        # On equal machines, each run may be made on any.
        self._has_pins = pool_of(workspace, name) is None and not isinstance(executor, Single)
        # Runs with pins go one by one to an executor that can choose a machine.
        has_any = any(self._pin(place) is not None for place in range(len(wanted)))
        self._batch = executor if isinstance(executor, Batch) and not (has_any and isinstance(executor, Pins)) else None
        # The machine of each pin, once a run of it was made.
        self._nodes: dict[str, str] = {}
        self._lost = [0] * len(wanted)
        self.todo = list(range(len(wanted)))
        # Those that are being submitted, with their places, and those that were.
        self.sending: tuple[Sending, list[int]] | None = None
        self.going: dict[int, Run] = {}

    def submit(self, display: Display, *, is_ending: bool) -> None:
        """Submit what may be submitted now. While a submission is refused, it is retried and nothing else is
        submitted."""
        while True:
            if self.sending is None and not is_ending:
                self.sending = self._next_sending()
            if self.sending is None:
                return
            sending, places = self.sending
            if is_ending:
                sending.give_up()
            elif sending.wait_s or not sending.attempt(display, others_run=bool(self.going)):
                return
            self.sending = None
            self.going |= dict(zip(places, sending.runs, strict=True))
            if any(run.exit is not None for run in sending.runs):
                return  # they never started, and that ends the series

    def _next_sending(self) -> tuple[Sending, list[int]] | None:
        """Record the next run, or the next batch; None if there is none to be made now."""
        if self._batch is not None:
            places = self.todo[:_TOGETHER] if not self.going else []
        else:
            place = self._next() if len(self.going) < self._at_most else None
            places = [] if place is None else [place]
        if not places:
            return None
        plans = [(self._wanted[place].plan, self._pin(place)) for place in places]
        node = self._nodes.get(plans[0][1] or "")
        kept = self._executor.on_node(node) if node is not None and isinstance(self._executor, Pins) else None
        self.todo = [place for place in self.todo if place not in places]
        sending = Sending(
            self._workspace,
            self._book,
            plans,
            self._name,
            executor=kept,
            at_most=self._at_most,
            patience_s=patience_of(self._workspace, self._name),
        )
        return sending, places

    def _pin(self, place: int) -> str | None:
        return self._wanted[place].pin if self._has_pins else None

    def _next(self) -> int | None:
        """The first run of which no other with its pin is being made."""
        taken = {pin for pin in map(self._pin, self.going) if pin is not None}
        return next((place for place in self.todo if self._pin(place) not in taken), None)

    def news(self) -> list[tuple[int, Run]]:
        """The runs being made of which something new may be known, with their places."""
        self._executor.look([self._book.spool(run) for run in self.going.values()], wait_s=_PAUSE_S)
        return list(self.going.items())

    def ended(self, runs: Sequence[Run]) -> list[tuple[Run | None, str | None]]:
        """Each with its end, where it has one, and what there is to be said of it. Its spool is shown before it is
        removed."""
        spools = [self._book.spool(run) for run in runs]
        over: dict[Path, Stage] = {}
        going: dict[Path, str | None] = {}
        for run, spool in zip(runs, spools, strict=True):
            if run.exit is None and spool.folder.is_dir():
                followed = how_far(self._executor, spool)
                if followed is None:
                    continue
                if followed.stage not in OVER:
                    going[spool.folder] = followed.trouble
                    continue
                over[spool.folder] = followed.stage
                if followed.stage == "ended":
                    self._keep_node(run, spool)
        taken = take_in_all(self._workspace, self._book, [one for one in spools if one.folder in over], over)
        found: list[tuple[Run | None, str | None]] = []
        for run, spool in zip(runs, spools, strict=True):
            error = taken.errors.get(spool.folder)
            if isinstance(error, ToolError):
                found.append((None, error.said))
            elif error is not None:
                raise error
            elif spool.folder in going:
                found.append((None, going[spool.folder]))
            else:
                found.append((self._book.reread(run), None))
        return found

    def _keep_node(self, run: Run, spool: Spool) -> None:
        """The runs with the pin of one that has ended are made where it was."""
        pin = next((self._pin(place) for place, going in self.going.items() if going == run), None)
        if pin is None or pin in self._nodes or not isinstance(self._executor, Pins):
            return
        if node := self._executor.node_of(spool):
            self._nodes[pin] = node

    def over(self, place: int, run: Run, *, is_ending: bool) -> bool:
        """A run has ended; whether it is made again."""
        del self.going[place]
        if run.exit is None or not run.exit.lost or is_ending or self._lost[place] >= LOST_AGAIN:
            return False
        self._lost[place] += 1
        self.todo.append(place)
        return True
