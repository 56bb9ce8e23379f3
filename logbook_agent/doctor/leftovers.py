"""What dead processes leave: temporary files. And `doctor --prune`: old output logs are deleted; records, and the
excerpts in them, stay for good."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from logbook_agent.doctor.survey import DOCTOR_FIX, OLD_S, Survey, age_s
from logbook_agent.store import records
from logbook_agent.store.book import Book
from logbook_agent.store.layout import LOG
from logbook_agent.store.trouble import Trouble
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.times import stamp


def check_temporary_files(survey: Survey) -> Iterator[Trouble]:
    book = survey.book
    found = [*book.root.glob(f".{book.view_path.name}.*.tmp"), *map(Path, _temporary_files(str(book.folder)))]
    for path in sorted(found):
        if age_s(path) >= OLD_S:
            message = "left by an interrupted write; the file it was meant for is intact"
            yield Trouble("warning", "temporary-file", path, message, f"{DOCTOR_FIX} removes it", survey.removing(path))


def _temporary_files(folder: str) -> Iterator[str]:
    """Those below a folder. (`rglob` takes ten times as long, and a long entry has a folder for each run.)"""
    with contextlib.suppress(OSError), os.scandir(folder) as found:
        for item in found:
            if item.is_dir(follow_symlinks=False):
                yield from _temporary_files(item.path)
            elif item.name.startswith(".") and item.name.endswith(".tmp"):
                yield item.path


# -- `--prune` -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """One output.log; `ended` is when its run ended, else when it was started."""

    path: Path
    entry: str
    run: int
    bytes: int
    ended: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """`kept_bytes` are those of all logs that are left, of runs that go on too."""

    deleted: tuple[Log, ...]
    kept: int
    kept_bytes: int

    @property
    def deleted_bytes(self) -> int:
        return sum(log.bytes for log in self.deleted)

    def data(self, *, dry_run: bool) -> dict[str, object]:
        return {
            "dry_run": dry_run,
            "deleted": [
                {"id": log.entry, "run": log.run, "bytes": log.bytes, "file": str(log.path)} for log in self.deleted
            ],
            "deleted_bytes": self.deleted_bytes,
            "kept": self.kept,
            "kept_bytes": self.kept_bytes,
        }


def prune(workspace: Workspace, book: Book, *, keep_days: int, dry_run: bool) -> Pruned:
    """Delete logs of runs that ended before the last `keep_days` days, oldest first."""
    records.read_header(book.files, book.header_path)  # a logbook of a newer format is refused
    before = stamp(workspace.now() - timedelta(days=keep_days))
    sizes = {path: path.lstat().st_size for path in book.runs_folder.glob(f"*/*/{LOG}")}
    logs = sorted(_logs(workspace, book, sizes), key=lambda log: (log.ended, log.entry, log.run))
    deleted = tuple(log for log in logs if log.ended < before)
    for log in deleted if not dry_run else ():
        book.files.remove(log.path)
    kept = sizes.keys() - {log.path for log in deleted}
    return Pruned(deleted=deleted, kept=len(kept), kept_bytes=sum(sizes[path] for path in kept))


def _logs(workspace: Workspace, book: Book, sizes: Mapping[Path, int]) -> Iterator[Log]:
    """Logs of runs that have ended. What has no readable record is left alone."""
    for found, run in Survey(workspace, book, set()).runs:
        path = found.path.with_name(LOG)
        if path in sizes and run.exit is not None:
            yield Log(path=path, entry=run.entry, run=run.run, bytes=sizes[path], ended=run.ended or run.started)
