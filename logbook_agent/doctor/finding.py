"""One thing that is wrong in a store, and what an examination knows."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, Literal

from logbook_agent.model.errors import StoreError
from logbook_agent.store.book import Book
from logbook_agent.store.files import make_folder, move, remove
from logbook_agent.store.workspace import Workspace

Severity = Literal["error", "warning", "note"]
# Does the mending and says what was done.
Fix = Callable[[], str]
DOCTOR_FIX = "logbook doctor --fix"


@dataclass(frozen=True, slots=True)
class Trouble:
    """How bad, found by which check, where, what is wrong, how it is mended (`mend` says what to type, or what `--fix`
    does), and what mends it.

    `items` are the names it is about when there are several; `mended` says what was done.
    """

    severity: Severity
    check: str
    path: Path | None
    message: str
    mend: str = ""
    fix: Fix | None = None
    _: KW_ONLY
    line: int | None = None
    items: tuple[str, ...] = ()
    mended: str | None = None

    @property
    def is_wrong(self) -> bool:
        """Whether somebody still has to act."""
        return self.severity != "note" and self.mended is None

    def data(self) -> dict[str, Any]:
        return {
            "check": self.check,
            "severity": self.severity,
            "message": self.message,
            "file": str(self.path) if self.path is not None else None,
            "line": self.line,
            "items": list(self.items),
            "mend": self.mend,
            "fixable": self.fix is not None,
            "mended": self.mended,
        }


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
        remove(path, within=self.book.root)
        return "removed"

    def rename(self, old: Path, new: Path) -> None:
        """Move a file or folder of the logbook to a name that is free. Raises StoreError."""
        make_folder(new.parent, within=self.book.root)
        if os.path.lexists(new):
            raise StoreError(f"{new} already exists", cause=f"{old.name} cannot be moved there", hint=f"look at {new}")
        move(old, new, within=self.book.root)

    def git_add(self) -> str:
        """The command to type after conflicts of this logbook are mended."""
        places = [self.workspace.shown(self.book.folder), self.workspace.shown(self.book.view_path)]
        return f"git add -- {shlex.join(places)}"


Check = Callable[[Examination], Iterator[Trouble]]
