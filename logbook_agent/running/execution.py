"""Making a run from its work order.

A number is reserved; `run.json` says that the run has started, before its command does; the command runs, and its log
grows; `run.json` says how it ended. Cut off anywhere, the record tells how far it came.

In the foreground this process executes the command, with the user's terminal and standard input. Where an executor is
named, a worker of its own does, on this machine or another one, and `executors/dispatch.py` takes in what it left.
Either way the work is done by `perform`, which knows no logbook.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from logbook_agent.model.run import Run
from logbook_agent.model.worker_report import Began
from logbook_agent.running.executors import LOCAL
from logbook_agent.running.launch.signals import StopRequests
from logbook_agent.running.order import Display, RunPlan, planned_run, with_facts, work_of
from logbook_agent.running.prepare import Command
from logbook_agent.running.reading import ended, read_run
from logbook_agent.running.run_budget import reserve
from logbook_agent.running.worker.perform import perform
from logbook_agent.running.worker.work import Stream, Workplace
from logbook_agent.store.book import Book
from logbook_agent.store.spool import keep_files, name_holder
from logbook_agent.store.workspace import Workspace


def make_runs(
    workspace: Workspace,
    book: Book,
    plans: Sequence[RunPlan],
    display: Display,
    stops: StopRequests,
    *,
    at_most: int = 1,
    waits: bool = False,
) -> Iterator[tuple[int, Run]]:
    """Make runs from their work orders, and yield each, with its place, as its record stands at its end. One whose
    worker vanished is made again; the last one counts.

    The caller holds `stops`, so that a request to stop leaves no record without an end. An executor makes `at_most` at
    a time. `waits`: the runs are of a planned series, so a refused start is retried for as long as the executor's
    settings say, and a lost run is retried even if its command had printed something.
    """
    name = executor_of_commands(workspace, [plan.command for plan in plans])
    if name is not None:
        from logbook_agent.running.executors.dispatch import Dispatch
        from logbook_agent.running.executors.table import executor_named

        executor = executor_named(workspace, name)
        yield from Dispatch(workspace, book, executor, display, plans, name, at_most, waits=waits).carry_out(stops)
        return
    for place, plan in enumerate(plans):
        yield place, run_here(workspace, book, plan, display, stops)


def executor_of_commands(workspace: Workspace, commands: Sequence[Command]) -> str | None:
    """The name of the executor whose workers make runs of these commands; None: this process makes them."""
    if any(command.inside for command in commands):
        return None
    return next((one.executor for one in commands if one.executor is not None), workspace.executor)


def run_here(workspace: Workspace, book: Book, plan: RunPlan, display: Display, stops: StopRequests) -> Run:
    """Make a run in this process, and return its final record. The record is written before the command starts."""
    number, left_s = reserve(workspace, book, plan)
    run = planned_run(workspace, book, plan, number)
    work = work_of(workspace, book, plan, number, left_s)
    spool = book.begin(run)
    with spool.claimed() as lock:
        assert lock is not None, "nobody else has this folder"  # noqa: S101
        recorder = _Recorder(book, run, lock, display)
        place = Workplace(environ=workspace.environ, redactor=workspace.redactor, now=workspace.now, files=spool.files)
        end = perform(work, place, recorder, stops, inside=plan.command.inside)
        found = read_run(workspace, book, recorder.run, end)
        keep_files(book, spool)
        run = book.write_run(ended(recorder.run, end, found))
    book.drop(spool)
    return run


def submit(workspace: Workspace, book: Book, plan: RunPlan) -> Run:
    """Start a worker that makes a run, and return the record of the run, which has not ended."""
    from logbook_agent.running.executors.submission import send

    return send(workspace, book, plan, plan.command.executor or workspace.executor or LOCAL)


class Shown:
    """Shows the output of a run; its facts are written nowhere."""

    def __init__(self, display: Display) -> None:
        self._display = display

    def began(self, facts: Began) -> None: ...

    def started(self, group: int) -> None: ...

    def output(self, stream: Stream, data: bytes) -> None:
        self._display.output(stream, data)

    def idle(self, last_result: str | None, log_bytes: int) -> None:
        self._display.tick(last_result, log_bytes)

    def done(self) -> None:
        self._display.done()


class _Recorder(Shown):
    """Writes what is found before the command of a run starts to its record, and shows output."""

    def __init__(self, book: Book, run: Run, lock: int, display: Display) -> None:
        super().__init__(display)
        self._book, self.run, self._lock = book, run, lock

    def began(self, facts: Began) -> None:
        self.run = self._book.write_run(with_facts(self.run, facts))

    def started(self, group: int) -> None:
        name_holder(self._lock, os.getpid(), group, self.run.name)
