"""Ends an A/B whose code is changed while it is measured."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from logbook_agent.campaign.driver import NotCounted
from logbook_agent.running.prepare import Command
from logbook_agent.running.provenance.code_changes import changed_files
from logbook_agent.running.provenance.git import CodeLook
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import listed

_SHOWN = 5


class CodeChanged(NotCounted):
    """Raised for a run in which, or before which, a file of its code changed."""


class CodeGuard:
    """The code of commands as it was when this was made. A launcher that syncs no files runs code that nobody knows
    here."""

    def __init__(self, workspace: Workspace, root: Path, commands: Iterable[Command]) -> None:
        self._before = {
            one.argv: CodeLook(one.cwd, root, one.argv, {**workspace.environ, **one.env}, workspace.config.code).facts()
            for one in commands
            if one.syncs or not one.is_carried
        }

    @contextlib.contextmanager
    def measuring(self, command: Command) -> Iterator[None]:
        """Check the code after a run. Raises CodeChanged."""
        yield
        before = self._before.get(command.argv)
        changed, _ = changed_files(before, before.again()) if before is not None else ([], [])
        if changed:
            raise CodeChanged(
                f"the code changed: {listed(changed, _SHOWN)}",
                cause="its runs were to be made with one code",
                hint="with --frozen, the runs are made in a copy of the code, which you can edit meanwhile",
            )
