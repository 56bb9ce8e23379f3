"""Collecting the runs of a logbook whose workers have ended.

Executors that gave no useful answer after a long wait are skipped by later commands, for up to a minute.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from logbook_agent.model.errors import LogbookError, StoreError
from logbook_agent.model.run import Run
from logbook_agent.running.executors.contract import LogGrows
from logbook_agent.running.executors.intake import take_in_all, warn_once
from logbook_agent.running.executors.table import executor_named
from logbook_agent.store.book import Book
from logbook_agent.store.spool import SENT, Spool, run_at
from logbook_agent.store.workspace import Workspace

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
        quiet = {"until": time.time() + min(_MOST_S, _FACTOR * took_s), "why": told[-1][:_SAID_CHARS]}
        book.cache.keep(_QUIET, {executor: json.dumps(quiet)}, ())
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
    if executor and (text := book.cache.values(_QUIET).get(executor)) is not None:
        quiet = json.loads(text)
        if 0 < quiet["until"] - time.time() <= _MOST_S:
            return f"{quiet['why']}; it is asked again within a minute"
    return None
