"""Runs that workers of their own make, from the side of the client, which alone writes to the book: submitting them,
following them and taking them in, one or many at a time.

Runs of one unit are compared with one another. One machine makes them, one after another and in their order. Where
that cannot be had, the machines must be declared to be equal.
"""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import structs

from logbook_agent.model.errors import BudgetSpent, StoreError, ToolError, UsageError
from logbook_agent.model.header import NO_BUDGET
from logbook_agent.model.run import Run
from logbook_agent.model.worker_report import OVER, Stage
from logbook_agent.running.executors.contract import PIECE_BYTES, Executor, units_of
from logbook_agent.running.executors.intake import take_in_all
from logbook_agent.running.executors.local import log_from
from logbook_agent.running.executors.submission import Attempts
from logbook_agent.running.executors.table import executor_named, executor_of, is_declared, patience_of, pool_of
from logbook_agent.running.launch.signals import StopRequests
from logbook_agent.running.order import Display, RunPlan
from logbook_agent.store.book import Book
from logbook_agent.store.book_runs import engine_said
from logbook_agent.store.spool import Spool
from logbook_agent.store.workspace import Workspace

# A run whose worker vanished is made again so often; one that failed is not.
LOST_AGAIN = 2
# How often runs are looked at: soon at first, then ever more seldom; many at once no more often than so.
FIRST_S, _MANY_S = 0.02, 0.5
_GROWTH = 1.3
# A machine that is slow to ask may take so long to answer; a request to stop waits for that.
_WAIT_S = 2.0
# So many are submitted together: each holds a file open until it is.
_TOGETHER = 200


def check_parallel(workspace: Workspace, on: str | None, at_most: int) -> None:
    """Raises UsageError where what `--on` names cannot make runs at once without sharing a machine or falling apart."""
    if at_most < 1:
        raise UsageError(
            f"--parallel {at_most}: expected 1 or more",
            cause="it is the number of runs at the same time",
            hint="--parallel 2",
        )
    if at_most == 1:
        return
    if on is None or not is_declared(workspace, on):
        raise UsageError(
            "--parallel needs an executor on another machine",
            cause="runs at the same time on this machine would disturb each other's measurements",
            hint="add --on NAME; logbook executors lists the names",
        )
    executor = executor_named(workspace, on)
    if executor.is_batch or executor.is_single or pool_of(workspace, on) is not None:
        return
    raise UsageError(
        f"{on} cannot run several commands at once",
        cause="runs that are compared must be on the same machine, and this executor cannot choose the machine",
        hint=f"if its machines are equal and no two runs share one, set equivalent = true in [executors.{on}]",
    )


def attend(workspace: Workspace, book: Book, run: Run, display: Display, stops: StopRequests) -> Run:
    """Wait for the end of a run that was submitted, take it in and return it. A request to stop is passed on to its
    worker."""
    dispatch = Dispatch(workspace, book, executor_of(workspace, run), display)
    dispatch.going[0] = run
    return [ended for _, ended in dispatch.carry_out(stops)][-1]


class Dispatch:
    """The runs that are in progress, and those that are still to be made, `at_most` at a time.

    `waits`: a start that is refused for a reason that may pass is tried again for as long as the executor's settings
    say, and a lost run is made again even if its command had printed something.
    """

    def __init__(
        self,
        workspace: Workspace,
        book: Book,
        executor: Executor,
        display: Display,
        plans: Sequence[RunPlan] = (),
        name: str = "",
        at_most: int = 1,
        *,
        waits: bool = True,
    ) -> None:
        self._workspace, self._book, self._display = workspace, book, display
        self._executor, self._name, self._at_most = executor, name, at_most
        self._waits = waits
        if plans and (pool_of(workspace, name) is not None or executor.is_single or not executor.is_batch):
            # Each run may be made on any machine, or only on one.
            plans = [structs.replace(plan, unit=None) for plan in plans]
        self._plans = plans
        # Of a budget each unit is taken as it starts.
        self._is_batch = executor.is_batch and book.header.limits == NO_BUDGET
        self._lost = [0] * len(plans)
        self._todo = list(range(len(plans)))
        # Those that are being submitted, with their places, and those that were.
        self._attempts: tuple[Attempts, list[int]] | None = None
        self.going: dict[int, Run] = {}
        # Of a run that is made alone: how much of its output was shown; None: it is not shown.
        self._is_alone = len(plans) < 2
        self._offset = 0 if self._is_alone and display.shows_output else None
        self._told: set[str | None] = {None}
        self._is_ending = False
        self._refused: BudgetSpent | None = None

    def carry_out(self, stops: StopRequests) -> Iterator[tuple[int, Run]]:
        """Make the runs, and yield each with its place when it has ended. A lost run is yielded, too, and made again. A
        request to stop ends the runs in progress. After a worker that cannot start, no further run is submitted."""
        pause_s = FIRST_S
        while self.going or self._attempts or (self._todo and not self._is_ending):
            looked, has_ended = time.monotonic(), False
            self._submit()
            if stops.take():
                self._is_ending = True
                self._stop(self.going.values())
            for place, run in self._ended():
                has_ended = True
                again = self._over(place, run)
                yield place, run
                if again:
                    self._display.progress(f"{run.entry} run {run.run} was lost; retrying")
            # Where one has ended, another may be submitted at once.
            pause_s = 0.0 if has_ended else self._next_pause_s(pause_s)
            left_s = max(0.0, looked + pause_s - time.monotonic())
            # A signal ends the wait: a request to stop, or that a worker of this process has ended.
            if select.select([stops.wakeup], [], [], left_s)[0]:
                stops.clear_wakeup()
        if self._refused is not None:
            raise self._refused

    def _next_pause_s(self, pause_s: float) -> float:
        if not self.going and self._attempts is not None:
            return self._attempts[0].wait_s
        return min(self._executor.pace_s if self._is_alone else _MANY_S, max(FIRST_S, pause_s * _GROWTH))

    # -- submitting ------------------------------------------------------------------------------------

    def _submit(self) -> None:
        """Submit what may be submitted now. While a submission is refused, it is retried and nothing else is
        submitted."""
        while True:
            if self._attempts is None and not self._is_ending:
                try:
                    self._attempts = self._next_attempts()
                except BudgetSpent as error:
                    # Raised when the runs in progress have ended.
                    self._refused, self._is_ending = error, True
            if self._attempts is None:
                return
            attempts, places = self._attempts
            if self._is_ending:
                attempts.give_up()
                self._stop(attempts.runs)
            elif attempts.wait_s or not attempts.attempt(self._display, others_run=bool(self.going)):
                return
            self._attempts = None
            self.going |= dict(zip(places, attempts.runs, strict=True))
            if any(run.exit is not None for run in attempts.runs):
                return  # they never started, and that ends the series

    def _stop(self, runs: Iterable[Run]) -> None:
        """Ask those of these runs that have not ended to stop. Raises ToolError where none could be asked."""
        asked = [run for run in runs if run.exit is None]
        self._executor.stop([self._book.spool(run) for run in asked])

    def _next_attempts(self) -> tuple[Attempts, list[int]] | None:
        """Record the next unit, or the next batch of them; None if there is none to be made now."""
        if self._is_batch:
            places = self._todo[:_TOGETHER] if not self.going else []
        else:
            units = units_of(self._todo, lambda place: self._plans[place].unit)
            places = units[0] if units and len(self.going) < self._at_most else []
        if not places:
            return None
        self._todo = [place for place in self._todo if place not in places]
        attempts = Attempts(
            self._workspace,
            self._book,
            [self._plans[place] for place in places],
            self._name,
            at_most=self._at_most,
            patience_s=patience_of(self._workspace, self._name) if self._waits else 0.0,
        )
        return attempts, places

    # -- following -------------------------------------------------------------------------------------

    def _ended(self) -> Iterator[tuple[int, Run]]:
        """The runs that have ended, taken in. A run whose spool is gone was taken in by another command."""
        news = [(place, run, self._book.spool(run)) for place, run in self.going.items()]
        stages = self._stages([(run, spool) for _, run, spool in news if run.exit is None and spool.folder.is_dir()])
        over = {folder: stage for folder, stage in stages.items() if stage in OVER}
        taken = take_in_all(self._workspace, self._book, [spool for *_, spool in news if spool.folder in over], over)
        for place, run, spool in news:
            error = taken.errors.get(spool.folder)
            if isinstance(error, ToolError):
                # Its machine does not answer, which may pass.
                self._tell(run, error.said)
            elif error is not None:
                raise error
            elif stages.get(spool.folder, "ended") in OVER:
                ended = self._book.reread(run)
                self._show_rest(ended)
                self._display.done()
                yield place, ended

    def _stages(self, runs: Sequence[tuple[Run, Spool]]) -> dict[Path, Stage]:
        """Look at these runs, and show what is new of them: their stages, by folder."""
        stages: dict[Path, Stage] = {}
        troubles: Mapping[Path, str] = {}
        if self._offset is None or not any(log_from(spool, self._offset) for _, spool in runs):
            wait_s, with_log = _WAIT_S if self._is_alone else _MANY_S, self._offset is not None
            troubles = self._executor.look([spool for _, spool in runs], wait_s=wait_s, with_log=with_log)
        for run, spool in runs:
            stage, output = spool.stage(), b"" if self._offset is None else log_from(spool, self._offset)
            if spool.folder.is_dir():
                stages[spool.folder] = stage
                self._show(run, output)
                self._tell(run, troubles.get(spool.folder) if stage not in OVER else None)
        return stages

    def _show(self, run: Run, output: bytes) -> None:
        """Show what is new of a run."""
        if self._offset is not None and output:
            self._offset += len(output)
            self._display.output("stdout", output)
        if self._is_alone:
            self._tell(run, engine_said(self._book, run))
            beat = self._book.heartbeat(run)
            self._display.tick(beat.last if beat is not None else None, beat.bytes if beat is not None else 0)

    def _tell(self, run: Run, said: str | None) -> None:
        """Say once what an engine says of a run, or why nothing new is known of it."""
        if said not in self._told:
            self._told.add(said)
            self._display.progress(f"{run.entry} run {run.run}: {said}")

    def _show_rest(self, run: Run) -> None:
        """Show what is left of the output of a run that was taken in: it is in the log."""
        while self._offset is not None and (
            rest := log_piece(self._workspace, self._book, run.entry, run.run, self._offset)
        ):
            self._offset += len(rest)
            self._display.output("stdout", rest)

    def _over(self, place: int, run: Run) -> bool:
        """Take a run that has ended off the list; whether it is made again."""
        del self.going[place]
        self._is_ending = self._is_ending or (run.exit is not None and run.exit.never_started)
        if run.exit is None or not run.exit.lost or self._is_ending or not self._plans:
            return False
        if self._lost[place] >= LOST_AGAIN:
            return False
        if not self._waits and run.output is not None and run.output.bytes:
            self._display.progress(
                f"{run.entry} run {run.run} was lost; not retried, because its command had already printed something"
            )
            return False
        self._lost[place] += 1
        self._offset = 0 if self._offset is not None else None
        self._todo.append(place)
        return True


def log_piece(workspace: Workspace, book: Book, entry_id: str, number: int, offset: int) -> bytes:
    """The log of a run from this byte on, or a part of that, wherever it lies; empty where there is no more yet."""
    if book.spools() and os.path.lexists(book.run_folder(entry_id, number) / "run.json"):
        run = book.run(entry_id, number)
        if (spool := book.spool(run)).folder.is_dir():
            # Another command may take it in meanwhile.
            with contextlib.suppress(StoreError):
                if not log_from(spool, offset):
                    executor_of(workspace, run).look([spool], with_log=True)
                if output := log_from(spool, offset):
                    return output
    path = book.log_path(entry_id, number)
    if not os.path.lexists(path):
        return b""
    with book.files.open(path) as log:
        log.seek(offset)
        return log.read(PIECE_BYTES)
