"""One thing that is wrong in a store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from msgspec import Struct

Severity = Literal["error", "warning", "note"]
# Does the mending and says what was done.
Fix = Callable[[], str]


class Trouble(Struct, frozen=True):
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
    line: int | None = None
    items: tuple[str, ...] = ()
    mended: str | None = None

    @property
    def is_wrong(self) -> bool:
        """Whether somebody still has to act."""
        return self.severity != "note" and self.mended is None

    def data(self) -> dict[str, object]:
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
