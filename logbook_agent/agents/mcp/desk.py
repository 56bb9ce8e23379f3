"""Where a server answers: folder, environment, root, and whether it may start commands."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from logbook_agent.cli.options import collect
from logbook_agent.store.workspace import Workspace


@dataclass(frozen=True, kw_only=True)
class Desk:
    """One server's. One call at a time is answered, but for those that wait."""

    cwd: Path
    environ: Mapping[str, str]
    root: str
    logbook: str | None = None
    allow_run: bool = False
    one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    def space(self, logbook: str | None = None) -> Workspace:
        """The workspace of one call, which may name another logbook than the server's own."""
        return Workspace(
            cwd=self.cwd,
            environ=self.environ,
            root_option=self.root,
            logbook_option=logbook or self.logbook,
            arrive=collect,
        )
