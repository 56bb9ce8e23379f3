"""What dead processes leave: temporary files; and the lock and the index, which look after themselves."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from logbook_agent.doctor.finding import DOCTOR_FIX, Examination, Finding
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
        if age_s(path) < OLD_S:
            continue

        def fix(path: Path = path) -> str:
            examination.remove(path)
            return "removed"

        yield Finding(
            check="temporary-file",
            severity="warning",
            message="left by an interrupted write; the file it was meant for is intact",
            mend=f"{DOCTOR_FIX} removes it",
            path=path,
            fix=fix,
        )


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
        yield Finding(check="lock", severity="warning", message=error.message, mend=error.hint, path=path)


def check_index(examination: Examination) -> Iterator[Finding]:
    path, root = examination.book.index_path, examination.book.root
    problem = index_file.problem_of(path, root)
    if problem is None:
        return

    def fix() -> str:
        index_file.remove(path, root)
        return "deleted; the next `logbook list` makes a new one"

    yield Finding(
        check="index",
        severity="warning",
        message=f"the index is damaged: {problem}",
        mend=f"{DOCTOR_FIX} deletes it; it is only a cache",
        path=path,
        fix=fix,
    )


def age_s(path: Path) -> float:
    """How long ago a file was changed; 0 when it is gone."""
    try:
        return time.time() - path.lstat().st_mtime
    except OSError:
        return 0.0
