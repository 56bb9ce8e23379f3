"""What dead processes leave: temporary files; the lock and the index, which look after themselves; and logs: those that
are not here, and those that are not what was written."""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Iterator
from pathlib import Path

from logbook_agent.doctor.finding import DOCTOR_FIX, Examination, Finding, finding
from logbook_agent.model.errors import StoreError
from logbook_agent.store import index_file
from logbook_agent.store.files import locked

# Younger ones may belong to a process that is just writing.
OLD_S = 60.0
_LOCK_S = 2.0


def check_temporary_files(examination: Examination) -> Iterator[Finding]:
    book = examination.book
    found = [*book.root.glob(f".{book.view_path.name}.*.tmp"), *map(Path, _temporary_files(str(book.folder)))]
    for path in sorted(found):
        if age_s(path) >= OLD_S:
            message = "left by an interrupted write; the file it was meant for is intact"
            fix = functools.partial(examination.remove, path)
            yield finding("warning", "temporary-file", path, message, f"{DOCTOR_FIX} removes it", fix)


def _temporary_files(folder: str) -> Iterator[str]:
    """Those below a folder. (`rglob` takes ten times as long, and a long entry has a folder for each run.)"""
    with contextlib.suppress(OSError), os.scandir(folder) as found:
        for item in found:
            if item.is_dir(follow_symlinks=False):
                yield from _temporary_files(item.path)
            elif item.name.startswith(".") and item.name.endswith(".tmp"):
                yield item.path


def check_lock(examination: Examination) -> Iterator[Finding]:
    """A lock ends with its holder, so the lock file of a dead process is none; one that is held long is told."""
    path = examination.book.folder / ".lock"
    if not os.path.lexists(path):
        return
    try:
        with locked(path, within=examination.book.root, timeout_s=_LOCK_S):
            pass
    except StoreError as error:
        yield finding("warning", "lock", path, error.message, error.hint)


def check_index(examination: Examination) -> Iterator[Finding]:
    path, root = examination.book.index_path, examination.book.root
    problem = index_file.problem_of(path, root)
    if problem is None:
        return

    def fix() -> str:
        index_file.remove(path, root)
        return "deleted; the next `logbook list` makes a new one"

    mend = f"{DOCTOR_FIX} deletes it; it is only a cache"
    yield finding("warning", "index", path, f"the index is damaged: {problem}", mend, fix)


def age_s(path: Path) -> float:
    """How long ago a file was changed; 0 when it is gone."""
    try:
        return time.time() - path.lstat().st_mtime
    except OSError:
        return 0.0


# -- logs ------------------------------------------------------------------------------------------


def check_logs(examination: Examination) -> Iterator[Finding]:
    """A missing log is nothing wrong: they stay on the machine that ran the experiment, and `prune` deletes
    them. One of another size than the record says was changed."""
    book = examination.book
    missing = 0
    for entry_id in book.entry_ids():
        try:
            runs = book.runs(entry_id)
        except StoreError:
            continue  # another check tells
        for run in runs:
            if run.output is None or not run.output.log_bytes:
                continue
            try:
                size = os.lstat(f"{book.runs_folder}/{entry_id}/{run.run:02d}/output.log").st_size
            except OSError:
                missing += 1
                continue
            if size != run.output.log_bytes:
                message = f"the log has {size} bytes; {run.output.log_bytes} were written"
                mend = "it was changed after the run; the excerpt and the rows in run.json are what was seen"
                yield finding("warning", "log", book.log_path(entry_id, run.run), message, mend)
    if missing:
        said = f"{missing} {'logs are' if missing > 1 else 'log is'} not here: on another machine, or pruned"
        yield finding("note", "missing-logs", None, said)
