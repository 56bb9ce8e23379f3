"""What a run has printed so far, wherever its log lies."""

from __future__ import annotations

import os

from logbook_agent.running.executors.contract import PIECE_BYTES
from logbook_agent.running.executors.table import executor_named
from logbook_agent.store import records
from logbook_agent.store.book import Book
from logbook_agent.store.reading import open_file
from logbook_agent.store.workspace import Workspace


def log_piece(workspace: Workspace, book: Book, entry_id: str, number: int, offset: int) -> bytes:
    """The log of a run from this byte on, or a part of that; empty where there is no more yet."""
    spool = book.spool(entry_id, number)
    record = book.run_folder(entry_id, number) / "run.json"
    if spool.folder.is_dir() and os.path.lexists(record):
        run = records.read_run(record)
        if run.executor is not None and (found := executor_named(workspace, run.executor).follow(spool, offset).output):
            return found
    path = book.log_path(entry_id, number)
    if not os.path.lexists(path):
        return b""
    with open_file(path, within=book.root) as log:
        log.seek(offset)
        return log.read(PIECE_BYTES)
