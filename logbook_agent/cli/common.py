"""What the options of every command say: `-L`, `--root` and `--json`; and the workspace that follows from them."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from logbook_agent.cli.output import emit, redact_by
from logbook_agent.model.errors import UsageError

if TYPE_CHECKING:
    from logbook_agent.store.book import Book
    from logbook_agent.store.workspace import Workspace

# Parts of a workspace that tests put in place of this machine's: `now`, and the `timing` that waits go by.
replaced: dict[str, Any] = {}
# Those of the command that is being carried out.
_SPACES: list[Workspace] = []


class Common(Struct, frozen=True, kw_only=True, dict=True):
    """Which logbook, how to answer, and the whole command line."""

    logbook: str | None = None
    root: str | None = None
    as_json: bool = False
    words: tuple[str, ...] = ()

    def space(self) -> Workspace:
        """The workspace of the command."""
        return self._space

    @cached_property
    def _space(self) -> Workspace:
        from logbook_agent.store.workspace import Workspace  # the help of a command needs none

        if sys.platform not in ("linux", "darwin"):
            raise UsageError(
                f"{sys.platform} is not supported",
                cause="logbook needs process groups to end runs and flock to lock logbooks",
                hint="use Linux, macOS, or WSL",
            )
        space = Workspace(
            cwd=Path.cwd(),
            environ=os.environ,
            root_option=self.root,
            logbook_option=self.logbook,
            arrive=collect,
            **replaced,
        )
        redact_by(lambda: space.redactor)
        _SPACES.append(space)
        return space

    def typed(self, hint: str) -> str:
        """A hint with the -L that was typed, where it is one command that takes one, or ends in it behind a colon."""
        before, colon, command = ("", "", hint) if hint.startswith("logbook ") else hint.rpartition(": ")
        is_command = command.startswith("logbook ") and ";" not in hint and not command.startswith("logbook start")
        if self.logbook is None or not is_command:
            return hint
        from logbook_agent.findings.advice import addressed

        with contextlib.suppress(ValueError):  # prose may open a quote and not close it
            return before + colon + addressed(command, ["-L", self.logbook])
        return hint

    def emit(
        self,
        command: str,
        data: Any,
        text: str | Callable[[], str] = "",
        *,
        draw: Callable[[Any], None] | None = None,
    ) -> None:
        """Print the answer of a command, as `output.emit` does, with what its workspace warns of. A `text` that takes
        time to make is a function, which JSON does not need."""
        shown = text if isinstance(text, str) else "" if self.as_json else text()
        emit(command, data, shown, as_json=self.as_json, warnings=self._space.warnings, draw=draw)

    def space_without_logbook(self, command: str) -> Workspace:
        """The workspace for a command that works in no logbook that exists already. Raises UsageError for -L."""
        if self.logbook is not None:
            raise UsageError(
                f"logbook {command} takes no -L",
                cause="it makes a logbook of its own",
                hint=f"leave -L {self.logbook} out; to choose the folder of logbooks: --root DIR",
            )
        return self.space()


def take_spaces() -> list[Workspace]:
    """The workspaces that were made since this was asked last."""
    found = [*_SPACES]
    _SPACES.clear()
    return found


def collect(space: Workspace, book: Book) -> None:
    """Whatever is asked for, runs that have ended meanwhile are part of the answer, and what a killed process left in
    the folder of checkouts is removed."""
    from logbook_agent.store.places import checkouts_folder

    if book.spools():
        from logbook_agent.campaign.detached_runs import collect_ended

        collect_ended(space, book)
    if os.path.isdir(above := checkouts_folder(space.environ)):  # noqa: PTH112 - costs less, on every command
        from logbook_agent.running.provenance.worktrees import clean

        clean(above, space.environ)
