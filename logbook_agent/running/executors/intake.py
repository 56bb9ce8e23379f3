"""Brings the ends of runs into their records, from what was left in their folders.

Taking in is idempotent, and may be cut off anywhere: the folder `work/` goes last. The first end that is
recorded stands, unless it was a guess: what the worker says later takes its place.

Every command takes in first what has ended (`collected`). Executors that gave no useful answer after a long wait are
skipped by later commands, for up to a minute.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct, field, structs

from logbook_agent.model.errors import LogbookError, StoreError
from logbook_agent.model.run import Run, with_facts
from logbook_agent.model.worker_report import OVER, Began, End, Exit, Stage, noted
from logbook_agent.running.executors.contract import LogGrows
from logbook_agent.running.executors.table import executor_named, executor_of
from logbook_agent.running.reading import RunResults, cut_off, ended, read_run
from logbook_agent.store.book import Book
from logbook_agent.store.run_files import ERRORS, FINAL, LOG, SENT
from logbook_agent.store.spool import Seen, Sent, Spool, run_at
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import duration

_ERROR_CHARS = 500
# Smaller differences of clocks are not reported.
_SLACK_S = 60.0
# A spool without a record: its client writes that within an instant.
_ABANDONED_S = 60.0


def warn_once(workspace: Workspace, text: str) -> None:
    """Add a warning if it is new: commands that wait collect again and again."""
    workspace.warnings.extend([text] if text not in workspace.warnings else [])


class TakenIn(Struct, frozen=True, kw_only=True):
    """What was collected, by the folders of spools: runs whose end was recorded, and errors."""

    ended: dict[Path, Run] = field(default_factory=dict)
    errors: dict[Path, LogbookError] = field(default_factory=dict)


def take_in(workspace: Workspace, book: Book, spool: Spool) -> Run | None:
    """Bring the record of a run up to date, as its executor knows it now; the run if its end was recorded. Raises
    LogbookError."""
    if (run := book.run_called(spool.run_name)) is not None:
        executor_of(workspace, run).look([spool])
    taken = take_in_all(workspace, book, [spool])
    for error in taken.errors.values():
        raise error
    return taken.ended.get(spool.folder)


def take_in_all(
    workspace: Workspace,
    book: Book,
    spools: Sequence[Spool],
    stages: Mapping[Path, Stage] | None = None,
    *,
    drops: bool = True,
) -> TakenIn:
    """Bring the records of runs up to date with their spools. `stages`: by folder, the stages of runs that are known.
    `drops`: remove the folders of runs that have ended."""
    taken = TakenIn()
    for spool in spools:
        try:
            run = _taken_in(workspace, book, spool, (stages or {}).get(spool.folder))
            if run is not None:
                taken.ended[spool.folder] = run
                if drops:
                    book.drop(spool)
        except LogbookError as error:
            # If it is gone, another command took it in meanwhile.
            if spool.folder.is_dir():
                taken.errors[spool.folder] = error
    return taken


def _taken_in(workspace: Workspace, book: Book, spool: Spool, stage: Stage | None) -> Run | None:
    """The record of a run that is over, after its files were brought here and its end was written; None for another
    one, and for one whose record has an end already. Raises LogbookError."""
    run = book.run_called(spool.run_name)
    if run is None:
        # A client that is about to write the record, or was cut off before it could; else it lies on another branch.
        is_abandoned = time.time() - spool.folder.stat().st_mtime > _ABANDONED_S
        if is_abandoned and not spool.is_held() and not spool.is_used():
            book.drop(spool)
        return None
    executor = executor_of(workspace, run)
    if (stage := stage or spool.stage()) not in OVER:
        return None
    executor.collect(spool)
    if stage == "lost" and spool.has(FINAL):
        spool.get(End)  # it cannot be read: not lost until somebody says so
    end, began = spool.get(End) if stage == "ended" else None, spool.get(Began)
    reading, changed = RunResults(), tuple[str, ...]()
    if not _is_final(run, end):
        # Before the logbook is locked: a long log takes its time.
        reading = read_run(workspace, book, run if began is None else with_facts(run, began), end)
        changed = _changed(book, spool, run, end) if end is not None else ()
    with book.lock():
        # Another command may have ended it since it was asked about.
        run = book.reread(run)
        if not spool.folder.is_dir():
            return None
        if _is_final(run, end):
            # A command that was cut off recorded it, and may not have come to the view.
            book.changed.add(run.entry)
            book.drop(spool)
            return None
        run = run if began is None else with_facts(run, began)
        sent = spool.get(Sent)
        run = structs.replace(run, job=sent.job if sent is not None else None)
        book.keep_files(spool)
        if end is None:
            return book.write_run(_without_end(run, stage, _errors(spool, workspace), reading))
        clocks: tuple[str, ...] = ()
        if began is not None and sent is not None:
            submitted = (spool.folder / SENT).stat().st_mtime
            clocks = _clock_problems(began.started, end.ended, sent=submitted, now=time.time())
        run = structs.replace(run, problems=(*run.problems, *noted(*changed, *clocks)))
        return book.write_run(ended(run, end, reading))


def _is_final(run: Run, end: End | None) -> bool:
    """Whether the end in a record stands: not where a run was given up or cancelled, and its worker says since how it
    ended."""
    return run.exit is not None and (end is None or (end.exit, end.ended) == (run.exit, run.ended))


def _without_end(run: Run, stage: Stage, said: str, reading: RunResults) -> Run:
    """The record of a run whose end nobody saw: nothing is made up. `said`: what its worker or its engine said last."""
    if stage == "never-started":
        who = "its worker did not start" if run.executor is not None else "its logbook process was gone before"
        why = f"never started: {said or who}"
        return structs.replace(run, exit=Exit(never_started=True), problems=(*run.problems, *noted(why)))
    how = Exit(lost=True) if run.executor is not None else Exit(interrupted=True)
    who = f"lost: its worker vanished{f' ({said})' if said else ''}" if how.lost else "its logbook process was gone"
    return cut_off(run, how, f"{who}; this record was rebuilt from its log", reading)


def _errors(spool: Spool, workspace: Workspace) -> str:
    """The last line that the worker itself complained in, else what its engine said of it, without secrets."""
    try:
        lines = (spool.read(ERRORS) or "").strip().splitlines()
        seen = spool.get(Seen)
    except StoreError:
        return ""
    said = lines[-1] if lines else (seen.said if seen is not None else None) or ""
    return workspace.redactor.text(said)[:_ERROR_CHARS]


def finish(workspace: Workspace, book: Book, run: Run, why: str) -> Run | None:
    """Close the record of a run that nobody finished and whose work is not here, with the rows that stand in its log.
    None when it was finished meanwhile."""
    found = read_run(workspace, book, run)
    with book.lock():
        run = book.reread(run)
        if run.exit is not None:
            return None
        exit = Exit(interrupted=True) if run.executor is None else Exit(lost=True)
        return book.write_run(cut_off(run, exit, f"{why}; its record was finished from the log", found))


def _changed(book: Book, spool: Spool, run: Run, end: End) -> tuple[str, ...]:
    """A problem of a log that is not what the worker wrote, in the spool or where it was moved to already."""
    if end.output is None or not end.output.log_bytes:
        return ()
    folders = (spool.folder, book.run_folder(run.entry, run.run))
    path = next((folder / LOG for folder in folders if os.path.lexists(folder / LOG)), None)
    if path is None:
        return ("the log is missing",)
    with contextlib.suppress(StoreError):
        if book.files.digest(path) == end.output.sha256:
            return ()
    return ("the log was changed after the run: its digest differs",)


def _clock_problems(began: str, ended: str, *, sent: float, now: float) -> tuple[str, ...]:
    """What is wrong with the times of a run that was submitted and is over, by this machine's clock (seconds since the
    epoch). A clock that is ahead shows only in a run that ended not long ago."""
    behind_s = sent - datetime.fromisoformat(began).timestamp()
    ahead_s = datetime.fromisoformat(ended).timestamp() - now
    if behind_s > _SLACK_S:
        how, off_s, seems = "behind", behind_s, "the run began before it was submitted"
    elif ahead_s > _SLACK_S:
        how, off_s, seems = "ahead", ahead_s, "the run has not ended yet"
    else:
        return ()
    return (f"the clock of that machine is {how} by {duration(off_s)} or more: its times say that {seems}",)


# -- all runs of a logbook -------------------------------------------------------------------------


# A question that failed is not asked again for so many times as long as it took, but for no longer than this (s). What
# failed within a moment may be asked again at once.
_FACTOR, _MOST_S, _MOMENT_S = 5.0, 60.0, 1.0
_SAID_CHARS = 500
# Where the cache keeps until when an executor is not asked, and why.
_QUIET = "quiet"


@contextlib.contextmanager
def collected(workspace: Workspace, book: Book) -> Iterator[list[Run]]:
    """Collect what has arrived, and yield the runs whose end was recorded. What cannot be collected stays, with a
    warning.

    The spools are removed when the block is left: if the view was not updated in it, the next command does that."""
    ended: dict[Path, Run] = {}
    spools: list[Spool] = []
    for executor, its in _by_executor(book).items():
        if (why := _why_skipped(book, executor)) is not None:
            warn_once(workspace, f"not asked: {executor}: {why}")
            continue
        ended |= _collected(workspace, book, executor, its)
        spools += its
    yield list(ended.values())
    for spool in spools:
        if spool.folder in ended:
            try:
                book.drop(spool)
            except StoreError as error:
                warn_once(workspace, f"not removed: {error.said}")


def _collected(workspace: Workspace, book: Book, executor: str, spools: Sequence[Spool]) -> Mapping[Path, Run]:
    """Collect the runs of one executor; those whose end was recorded."""
    began, troubles = time.monotonic(), dict[Path, str]()
    if executor:
        # What is wrong with it is told when each run is taken in.
        with contextlib.suppress(LogbookError):
            troubles |= executor_named(workspace, executor).look(spools)
    taken = take_in_all(workspace, book, spools, drops=False)
    told = [
        f"not collected: {run_at(folder)}: {error.said}"
        for folder, error in taken.errors.items()
        if not isinstance(error, LogGrows)
    ]
    told += [f"no news from {executor}: {trouble}" for trouble in dict.fromkeys(troubles.values())]
    for text in told:
        warn_once(workspace, text)
    took_s = time.monotonic() - began
    if executor and told and took_s >= _MOMENT_S:
        until_s = time.time() + min(_MOST_S, _FACTOR * took_s)
        book.cache.keep(_QUIET, {**book.cache.values(_QUIET), executor: (str(until_s), told[-1][:_SAID_CHARS])})
    return taken.ended


def _by_executor(book: Book) -> dict[str, list[Spool]]:
    """The spools of a logbook by the executor that they were sent to; empty: nothing is costly to ask for."""
    together: dict[str, list[Spool]] = {}
    for spool in book.spools():
        executor = None
        with contextlib.suppress(LogbookError):
            if spool.has(SENT) and (run := book.run_called(spool.run_name)) is not None:
                executor = run.executor
        together.setdefault(executor or "", []).append(spool)
    return together


def _why_skipped(book: Book, executor: str) -> str | None:
    """Why an executor is not asked now; None if it may be asked."""
    until_s, why = book.cache.values(_QUIET).get(executor, ("0", "")) if executor else ("0", "")
    return f"{why}; it is asked again within a minute" if 0 < float(until_s) - time.time() <= _MOST_S else None
