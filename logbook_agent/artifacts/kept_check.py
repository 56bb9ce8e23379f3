"""`doctor`: kept files that are not what their run left. One that is missing is nothing wrong: they stay on the machine
that made the run, unless they are put into git."""

from __future__ import annotations

import functools
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from logbook_agent.artifacts.showing import copy_name, kept_path
from logbook_agent.model.errors import LogbookError, StoreError
from logbook_agent.model.run import Run
from logbook_agent.store.book import Book
from logbook_agent.store.run_files import ARTIFACTS
from logbook_agent.store.trouble import Trouble
from logbook_agent.store.workspace import Workspace, naming


def check_artifacts(workspace: Workspace, book: Book) -> Iterator[Trouble]:
    """Copies whose bytes do not match the digest in the record, and names that lead elsewhere."""
    fixing = shlex.join(["logbook", *naming(workspace, book), "doctor", "--fix"])
    for entry_id in book.entry_ids():
        for _, run in book.each_run(entry_id):
            if not isinstance(run, LogbookError):
                yield from _of_run(book, run)
                yield from _unnamed(book, run, fixing)


def _unnamed(book: Book, run: Run, fixing: str) -> Iterator[Trouble]:
    """Copies of a run that was cut off while it made them."""
    folder = book.run_folder(run.entry, run.run) / ARTIFACTS
    known = {copy_name(artifact) for artifact in run.artifacts}
    for name in sorted(book.files.names(folder)) if run.exit is not None else ():
        if name not in known and not name.startswith("."):
            fix = functools.partial(_removed, book, folder / name)
            message = "a copy that no record names: its run was cut off"
            yield Trouble("warning", "artifact", folder / name, message, f"{fixing} removes it", fix)


def _removed(book: Book, path: Path) -> str:
    book.files.remove(path)
    return "removed"


def _of_run(book: Book, run: Run) -> Iterator[Trouble]:
    for artifact in run.artifacts:
        if artifact.kept is None:
            continue
        record = book.run_folder(run.entry, run.run) / "run.json"
        path = kept_path(book, run, artifact)
        if path is None:
            message = f"the copy of {artifact.name!r} has a name that is not one of a copy: {artifact.kept!r}"
            yield Trouble("error", "artifact", record, message, "restore run.json from git or a backup")
        elif os.path.lexists(path):
            mend = "restore the file from a backup or another clone, or delete it"
            try:
                if book.files.digest(path) != artifact.sha256:
                    message = f"the copy of {artifact.name!r} is not what {run.entry} run {run.run} left"
                    yield Trouble("error", "artifact", path, f"{message}: its digest differs", mend)
            except (StoreError, OSError) as error:
                said = error.message if isinstance(error, StoreError) else str(error)
                yield Trouble("error", "artifact", path, said, mend)
