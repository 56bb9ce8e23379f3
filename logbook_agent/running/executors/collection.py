"""Collecting the runs of a logbook whose workers have ended.

Executors that gave no useful answer after a long wait are skipped by later commands, for up to a minute.
"""

from __future__ import annotations

import contextlib
import hashlib
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
from logbook_agent.store.folder import Folder
from logbook_agent.store.spool import SENT, Spool, run_at
from logbook_agent.store.user_config import places_of
from logbook_agent.store.workspace import Workspace

# A question that failed is not asked again for so many times as long as it took, but for no longer than this (s). What
# failed within a moment may be asked again at once.
_FACTOR, _MOST_S, _MOMENT_S = 5.0, 60.0, 1.0
_FILE_BYTES, _SAID_CHARS = 4096, 500


@contextlib.contextmanager
def collected(workspace: Workspace, book: Book) -> Iterator[list[Run]]:
    """Collect what has arrived, and yield the runs whose end was recorded. What cannot be collected stays, with a
    warning.

    The spools are removed when the block is left: if the view was not updated in it, the next command does that."""
    ended: dict[Path, Run] = {}
    spools: list[Spool] = []
    for executor, its in _by_executor(book).items():
        why = _why_skipped(workspace, executor) if executor else None
        if why is not None:
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
    began = time.monotonic()
    if executor:
        # What is wrong is told when each is taken in.
        with contextlib.suppress(LogbookError):
            executor_named(workspace, executor).look(spools)
    taken = take_in_all(workspace, book, spools, drops=False)
    told = [
        f"not collected: {run_at(folder)}: {error.said}"
        for folder, error in taken.errors.items()
        if not isinstance(error, LogGrows)
    ]
    told += [f"no news from {executor}: {trouble}" for trouble in dict.fromkeys(taken.troubles.values())]
    for text in told:
        warn_once(workspace, text)
    if executor and told:
        _note_trouble(workspace, executor, time.monotonic() - began, told[-1])
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


def _why_skipped(workspace: Workspace, executor: str) -> str | None:
    """Why an executor is not asked now; None if it may be asked."""
    path = _note_of(workspace, executor)
    try:
        found = json.loads(Folder(path.parent).text(path, limit=_FILE_BYTES)) if path and path.exists() else {}
        left_s = float(found["until"]) - time.time()
        return f"{found['why']}; it is asked again within a minute" if 0 < left_s <= _MOST_S else None
    except (LogbookError, ValueError, KeyError, TypeError):
        return None  # it was cut off, or is from another version


def _note_trouble(workspace: Workspace, executor: str, took_s: float, why: str) -> None:
    """Record that an executor gave no useful answer, and how long that took."""
    path = _note_of(workspace, executor)
    if took_s < _MOMENT_S or path is None:
        return
    told = {"until": time.time() + min(_MOST_S, _FACTOR * took_s), "why": why[:_SAID_CHARS]}
    Folder(path.parent).make(private=True)
    Folder(path.parent).write(path, json.dumps(told).encode(), durable=False, private=True)


def _note_of(workspace: Workspace, executor: str) -> Path | None:
    name = hashlib.sha256(executor.encode()).hexdigest()[:32]
    folder = places_of(workspace.root, workspace.environ).cache
    return None if folder is None else folder / "quiet" / f"{name}.json"
