"""What the options of every command say: `-L`, `--root` and `--json`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from logbook_agent.cli.output import emit
from logbook_agent.model.errors import UsageError

if TYPE_CHECKING:
    from logbook_agent.store.workspace import Workspace


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
        from logbook_agent.cli.spaces import workspace

        return workspace(self.logbook, self.root)

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
