"""What a check of a store is given: the logbook, and how its files are changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from logbook_agent.store.book import Book
from logbook_agent.store.trouble import Trouble
from logbook_agent.store.workspace import Workspace

DOCTOR_FIX = "logbook doctor --fix"


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """One examination of one logbook. `reported` are files of which something was said already."""

    workspace: Workspace
    book: Book
    stamp: str
    reported: set[Path] = field(default_factory=set)

    def backup(self, path: Path) -> Path:
        """Keep a file as it is, before it is changed or removed."""
        return self.book.backup(path, self.stamp)

    def remove(self, path: Path) -> str:
        """Remove a file of the logbook; what was done."""
        self.book.files.remove(path)
        return "removed"


Check = Callable[[Examination], Iterator[Trouble]]
