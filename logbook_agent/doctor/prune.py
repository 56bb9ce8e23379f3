"""`logbook prune`: delete old output logs. Records, and the excerpts in them, stay for good."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from logbook_agent.model.errors import StoreError
from logbook_agent.model.run import Run
from logbook_agent.store import records
from logbook_agent.store.book import Book
from logbook_agent.store.files import remove
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.times import stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """One output.log; `ended` is when its run ended, else when it was started. `run` is None for a sweep.log, which
    is a copy of the logs of all runs of its entry."""

    path: Path
    entry: str
    run: int | None
    bytes: int
    ended: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """`kept_bytes` are those of all logs that are left, of runs that go on too."""

    deleted: tuple[Log, ...]
    kept: int
    kept_bytes: int

    def data(self, *, dry_run: bool) -> dict[str, Any]:
        return {
            "dry_run": dry_run,
            "deleted": [
                {"id": log.entry, "run": log.run, "bytes": log.bytes, "file": str(log.path)} for log in self.deleted
            ],
            "deleted_bytes": sum(log.bytes for log in self.deleted),
            "kept": self.kept,
            "kept_bytes": self.kept_bytes,
        }


def prune(
    workspace: Workspace, book: Book, *, keep_days: int | None, max_bytes: int | None, dry_run: bool = False
) -> Pruned:
    """Delete logs of runs that ended, oldest first.

    `keep_days` protects what is younger; `max_bytes` stops as soon as all logs together fit. With `keep_days`
    alone everything older goes; with neither, the setting `logbook_bytes` is the limit.
    """
    if max_bytes is None and keep_days is None:
        max_bytes = workspace.config.logbook_bytes
    records.read_header(book.header_path)  # a logbook of another format is refused
    logs = _logs(book)
    count, total = _all_logs(book)
    before = None if keep_days is None else stamp(workspace.now() - timedelta(days=keep_days))
    deleted: list[Log] = []
    copied: set[str] = set()
    for log in sorted(logs, key=lambda found: (found.ended, found.entry, found.run or 0)):
        if (max_bytes is not None and total <= max_bytes) or (before is not None and log.ended >= before):
            break
        # What is deleted must not live on in a copy.
        copies = _copy(book, log) if log.entry not in copied else []
        copied.add(log.entry)
        for one in (log, *copies):
            if not dry_run:
                remove(one.path, within=book.root)
            total -= one.bytes
            deleted.append(one)
    return Pruned(deleted=tuple(deleted), kept=count - len(deleted), kept_bytes=total)


def _logs(book: Book) -> list[Log]:
    """Logs of runs that have ended. What has no readable record is left alone."""
    found = []
    for path in book.runs_folder.glob("*/*/output.log"):
        try:
            run: Run = records.read_run(path.parent / "run.json")
            size = path.lstat().st_size
        except (StoreError, OSError):
            continue
        if run.exit is not None:
            ended = run.ended or run.started
            found.append(Log(path=path, entry=run.entry, run=run.run, bytes=size, ended=ended))
    return found


def _copy(book: Book, log: Log) -> list[Log]:
    """The sweep.log that holds a log, where there is one."""
    path = book.sweep_log(log.entry)
    try:
        return [Log(path=path, entry=log.entry, run=None, bytes=path.lstat().st_size, ended=log.ended)]
    except OSError:
        return []


def _all_logs(book: Book) -> tuple[int, int]:
    paths = [path for names in ("*/*/output.log", "*/sweep.log") for path in book.runs_folder.glob(names)]
    sizes = [path.lstat().st_size for path in paths if path.exists()]
    return len(sizes), sum(sizes)
