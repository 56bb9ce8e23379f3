"""One reading of the records of a logbook, which all checks look at."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from logbook_agent.model.entry import Entry
from logbook_agent.model.errors import LogbookError, StoreError
from logbook_agent.model.run import Run
from logbook_agent.store.book import Book
from logbook_agent.store.trouble import Fix, Trouble
from logbook_agent.store.workspace import Workspace, naming

# Younger ones may belong to a process that is just writing.
OLD_S = 60.0


class FoundRun(Struct, frozen=True, kw_only=True):
    """The record of a run; the error of one that cannot be read."""

    entry: str
    number: int
    path: Path
    run: Run | LogbookError


class Survey:
    """The entries and runs of a logbook. `reported` are the files of which a check has spoken already."""

    def __init__(self, workspace: Workspace, book: Book, reported: set[Path]) -> None:
        self.workspace = workspace
        self.book = book
        self.reported = reported

    def typed(self, command: str) -> str:
        """A command as it is typed for this logbook."""
        return shlex.join(["logbook", *naming(self.workspace, self.book), *command.split()])

    @property
    def fixing(self) -> str:
        """The command that mends."""
        return self.typed("doctor --fix")

    @cached_property
    def entries(self) -> dict[Path, Entry | StoreError]:
        """Each entry by its file; the error of one that cannot be read."""
        found: dict[Path, Entry | StoreError] = {}
        for entry_id in self.book.entry_ids():
            path = self.book.entry_path(entry_id)
            try:
                found[path] = self.book.entry(entry_id)
            except StoreError as error:
                found[path] = error
        return found

    @cached_property
    def found_runs(self) -> list[FoundRun]:
        """All records of runs, by the names of their folders; also those of no entry."""
        book = self.book
        folders = {name: book.names.id_of(name) for name in self.names(book.runs_folder)}
        return [
            FoundRun(entry=entry, number=number, path=book.run_folder(entry, number) / "run.json", run=run)
            for name, entry in folders.items()
            if book.whole_name(entry) == name
            for number, run in book.each_run(entry)
        ]

    @property
    def runs(self) -> Iterator[tuple[FoundRun, Run]]:
        """Those that can be read."""
        return ((found, found.run) for found in self.found_runs if isinstance(found.run, Run))

    def names(self, folder: Path) -> list[str]:
        """The names in a folder of the logbook in order; none where there is none, or a link in its place."""
        try:
            return sorted(self.book.files.names(folder))
        except StoreError:
            return []

    def shown(self, path: Path) -> str:
        """A file as it is typed here."""
        return self.workspace.shown(path)

    def removing(self, path: Path) -> Fix:
        """Removes a file or folder of the logbook."""

        def remove() -> str:
            files = self.book.files
            if path.is_dir() and not path.is_symlink():
                files.remove_tree(path)
            else:
                files.remove(path)
            return "removed"

        return remove


Check = Callable[[Survey], Iterator[Trouble]]


def age_s(path: Path) -> float:
    """How long ago a file was changed; 0 when it is gone."""
    try:
        return time.time() - path.lstat().st_mtime
    except OSError:
        return 0.0
