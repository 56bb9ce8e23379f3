"""Runs that a worker of its own makes, from the side of the client, which alone writes to the book: submitting one,
and attending it to its end."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import select
import time
from collections.abc import Sequence

from logbook_agent.model.errors import StoreError, ToolError
from logbook_agent.model.run import Exit, Host, Run
from logbook_agent.running.execution import Display, RunPlan, beside_others, planned_run, work_of
from logbook_agent.running.executors.contract import OVER, PIECE_BYTES, Batch, Executor, Submission
from logbook_agent.running.executors.intake import drop, take_in
from logbook_agent.running.executors.table import executor_named, executor_of, pool_of
from logbook_agent.running.launch.signals import StopRequests
from logbook_agent.running.worker.sealing import sealed
from logbook_agent.running.worker.turns import devices_needed
from logbook_agent.store.book import Book
from logbook_agent.store.markers import marker_name
from logbook_agent.store.processes import this_host
from logbook_agent.store.reading import open_file
from logbook_agent.store.spool import Spool
from logbook_agent.store.workspace import Workspace

# How often a run is looked at: soon at first, then ever more seldom.
FIRST_S = 0.02
_GROWTH = 1.3
# A machine that is slow to ask may take so long to answer; a request to stop waits for that.
_WAIT_S = 10.0


def send(workspace: Workspace, book: Book, plan: RunPlan, name: str, executor: Executor | None = None) -> Run:
    """Record a run and submit it to the executor of this name, or to `executor`, which is that one kept to a machine.
    One that cannot be started has ended, as never started.

    Whatever happens to this process meanwhile, at most one worker is started, and its spool tells whether one was.
    """
    executor = executor or executor_named(workspace, name)
    with contextlib.ExitStack() as stack:
        item, run = _submission(workspace, book, plan, name, executor, stack)
        run = book.write_run(run)
        try:
            executor.start(item.spool, item.claim, item.work, item.secrets)
        except ToolError as error:
            run = _never_started(book, item.spool, run, error)
    return run


def send_all(
    workspace: Workspace, book: Book, plans: Sequence[tuple[RunPlan, str | None]], name: str, at_most: int
) -> list[Run]:
    """Record runs and submit them as a batch, each with its pin, to be made at most so many at a time."""
    executor = executor_named(workspace, name)
    if not isinstance(executor, Batch):
        raise AssertionError(f"{name} takes no batches")
    executor.expect()
    with contextlib.ExitStack() as stack:
        found = [(_submission(workspace, book, plan, name, executor, stack), pin) for plan, pin in plans]
        items = [dataclasses.replace(item, pin=pin) for (item, _), pin in found]
        runs = book.write_runs([run for (_, run), _ in found])
        try:
            executor.start_all(items, at_most)
        except ToolError as error:
            runs = [_never_started(book, item.spool, run, error) for item, run in zip(items, runs, strict=True)]
    return runs


def _submission(
    workspace: Workspace, book: Book, plan: RunPlan, name: str, executor: Executor, stack: contextlib.ExitStack
) -> tuple[Submission, Run]:
    """A run with its spool, which is held until `stack` is left, and its record, which is still to be written."""
    work, secrets = sealed(work_of(workspace, book, plan, book.new_run(plan.entry_id)), workspace.redactor)
    work = dataclasses.replace(work, takes_turns=executor.devices is not None, devices=executor.devices or ())
    run = dataclasses.replace(planned_run(workspace, plan, work.run), executor=name, pool=pool_of(workspace, name))
    work = dataclasses.replace(work, spool=marker_name(run))
    spool = book.make_spool(run)
    claim = stack.enter_context(spool.claimed())
    if claim is None:
        raise StoreError(f"{spool.folder} is in use", cause="another process made it", hint="logbook doctor")
    if executor.place is None:
        waits = bool(devices_needed(work, workspace.environ))
        run = dataclasses.replace(run, host=Host(name=this_host()))
        run = beside_others(workspace, book, run, takes_turns=waits)
    else:
        run = dataclasses.replace(run, host=Host(name=executor.place))
    return Submission(spool=spool, claim=claim, work=work, secrets=secrets), run


def _never_started(book: Book, spool: Spool, run: Run, error: ToolError) -> Run:
    """The record of a run that the executor refused."""
    said = f"never started: {error.message}" + (f" ({error.cause})" if error.cause else "")
    said += f"; next: {error.hint}" if error.hint else ""
    run = dataclasses.replace(run, exit=Exit(never_started=True), problems=(*run.problems, said))
    run = book.write_run(run)
    drop(book, spool)
    return run


def make(workspace: Workspace, book: Book, plan: RunPlan, name: str, display: Display, stops: StopRequests) -> Run:
    """Submit a run and return it when it has ended."""
    return attend(workspace, book, send(workspace, book, plan, name), display, stops)


def attend(workspace: Workspace, book: Book, run: Run, display: Display, stops: StopRequests) -> Run:
    """Wait for the end of a run that was submitted, take it in and return it. A request to stop is passed on to its
    worker."""
    spool = book.spool(run)
    executor = executor_of(workspace, run)
    pause_s, offset = FIRST_S, 0 if display.shows_output else None
    told: set[str | None] = {None}
    while spool.folder.is_dir():
        asked = time.monotonic()
        followed = executor.follow(spool, offset, wait_s=_WAIT_S)
        if offset is not None and followed.output:
            offset += len(followed.output)
            display.output("stdout", followed.output)
        # The rest of a long output first.
        if followed.stage in OVER and not (followed.output and offset is not None):
            trouble = taken_in(workspace, book, spool)
            if trouble is None:
                break
        else:
            trouble = followed.trouble
        for text in (trouble, followed.said):
            if text not in told:
                told.add(text)
                display.progress(f"{run.entry} run {run.run}: {text}")
        if stops.take():
            executor.stop(spool)
        beat = followed.heartbeat
        display.tick(beat.last if beat is not None else None, beat.bytes if beat is not None else 0)
        # A signal ends the wait: a request to stop, or that a worker of this process has ended.
        left_s = max(0.0, asked + pause_s - time.monotonic())
        if select.select([stops.wakeup], [], [], left_s)[0]:
            stops.clear_wakeup()
        pause_s = min(executor.pace_s, pause_s * _GROWTH)
    display.done()
    return book.reread(run)


def taken_in(workspace: Workspace, book: Book, spool: Spool) -> str | None:
    """Take in a run that is over; why not, where its machine does not answer, which may pass."""
    try:
        take_in(workspace, book, spool)
    except ToolError as error:
        return told_of(error)
    return None


def told_of(error: ToolError) -> str:
    """An error in one line."""
    return error.message + (f" ({error.cause})" if error.cause else "")


def log_piece(workspace: Workspace, book: Book, entry_id: str, number: int, offset: int) -> bytes:
    """The log of a run from this byte on, or a part of that, wherever it lies; empty where there is no more yet."""
    if book.spools() and os.path.lexists(book.run_folder(entry_id, number) / "run.json"):
        run = book.run(entry_id, number)
        spool = book.spool(run)
        if spool.folder.is_dir() and (found := executor_of(workspace, run).follow(spool, offset).output):
            return found
    path = book.log_path(entry_id, number)
    if not os.path.lexists(path):
        return b""
    with open_file(path, within=book.root) as log:
        log.seek(offset)
        return log.read(PIECE_BYTES)
