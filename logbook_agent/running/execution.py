"""Making a run from its work order, in four steps:

1. A number is reserved, which is the folder of the run. `begin` makes `work/` in it, whose lock is held as long as
   somebody makes the run.
2. `run.json` is written for the first time: what is to be run, when it began, and on which host.
3. `perform`, which knows no logbook, fills `work/`: before the command starts `began.json`, the code and the machine;
   while it runs the log; at the end `final.json`, how it ended.
4. `take_in` (`executors/intake.py`) brings all that into `run.json`, and removes `work/`.

If the tool is killed, whatever `logbook` command is typed next takes in what stands in `work/`. Killed in step 1, it
left no record; before `began.json`, the run has never started; later, it was interrupted, with the rows of its log,
unless `final.json` tells more. A command that outlived its tool is orphaned: `logbook cancel` ends it.

In the foreground this process takes all steps, and shows what the command prints; the command itself has no input.
Detached, or where an executor is named, `executors/submission.py` takes the first two and starts a worker, here or on
another machine (`cluster/README.md`), which takes the third. `executors/dispatch.py` follows the worker of those who
wait; else the next `logbook` command takes its run in. Where a launcher submits the command, no worker of ours runs:
`cluster/submitter.py` reads what the launcher says.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Sequence

from msgspec import structs

from logbook_agent.model.errors import StoreError, UsageError
from logbook_agent.model.run import Run
from logbook_agent.model.worker_report import Began
from logbook_agent.running.executors import LOCAL
from logbook_agent.running.executors.intake import take_in
from logbook_agent.running.launch.signals import StopRequests
from logbook_agent.running.order import Display, RunPlan, planned_run, reserve, work_of
from logbook_agent.running.prepare import Command
from logbook_agent.running.worker.perform import perform
from logbook_agent.running.worker.work import Stream, Workplace
from logbook_agent.store.book import Book
from logbook_agent.store.processes import this_host
from logbook_agent.store.spool import Holder, Spool, name_holder
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
    """Make a run in this process, and return its record."""
    number, left_s = reserve(workspace, book, plan)
    run = planned_run(workspace, book, plan, number)
    work = work_of(workspace, book, plan, number, left_s)
    spool = book.begin(run)
    with spool.claimed() as lock:
        assert lock is not None, "nobody else has this folder"  # noqa: S101
        book.write_run(run)
        values = workspace.redactor.values  # patterns are left out when it is taken in
        spool = structs.replace(spool, redactor=lambda: values)
        place = Workplace(environ=workspace.environ, values=values, now=workspace.now, files=spool.files)
        spool.put(perform(work, place, _Recorder(spool, lock, display), stops, inside=plan.command.inside))
    return take_in(workspace, book, spool) or book.reread(run)


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
    """Keeps what was found before the command starts; names the command in the lock; shows output."""

    def __init__(self, spool: Spool, lock: int, display: Display) -> None:
        super().__init__(display)
        self._spool, self._lock = spool, lock

    def began(self, facts: Began) -> None:
        self._spool.put(facts)

    def started(self, group: int) -> None:
        name_holder(self._lock, os.getpid(), group, self._spool.run_name)


# -- the end of a run from outside -----------------------------------------------------------------


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
