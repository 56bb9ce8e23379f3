"""What dead processes leave: temporary files."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from logbook_agent.doctor.survey import DOCTOR_FIX, OLD_S, Survey, age_s
from logbook_agent.store.trouble import Trouble


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
