"""`logbook watch`: what goes on in a logbook, in the terminal."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

from logbook_agent.cli.options import Common
from logbook_agent.cli.output import clean, draws, emit, emit_line
from logbook_agent.cli.status_commands import status_lines
from logbook_agent.findings.read import Findings
from logbook_agent.findings.status import OnMachine, status
from logbook_agent.model.errors import LogbookError
from logbook_agent.report.live.follower import LOOK_S, Follower, told
from logbook_agent.report.live.looking import ends_well, looking
from logbook_agent.report.live.watch_lines import Line, lines_of

if TYPE_CHECKING:
    from rich.text import Text


def watch_command(*, common: Common) -> None:
    """Show what is running and where the thread stands, live.

    On a terminal it keeps updating until Ctrl-C and then exits with 130, like `tail -f`. Otherwise it prints this once;
    with --json, one line of JSON at the start and one per change. It is read-only: it does not collect ended runs.
    Example: logbook watch
    """
    # The terminal is put back on TERM, too.
    with ends_well(128 + signal.SIGTERM, signal.SIGTERM):
        watched = _Watched(Follower(lambda: looking(common), looking(common).book().topic))
        if common.as_json:
            _as_json(watched)
        elif draws():
            _on_terminal(watched)
        else:
            text = "\n".join("".join(part for part, _ in line) for line in watched.lines())
            emit("watch", None, text, as_json=False, warnings=watched.follower.workspace.warnings)


class _Watched:
    """The data of `logbook watch`; what follows from the records is computed again only when they have changed."""

    def __init__(self, follower: Follower) -> None:
        self.follower = follower
        self._found: Findings | None = None
        # Where the thread stands, as `status` has it.
        self._status: dict[str, Any] = {}

    def look(self) -> dict[str, Any]:
        live = self.follower.look()
        trouble = live.trouble
        if live.found is not None and live.found is not self._found:
            try:
                self._status, self._found = {**status(live.found, OnMachine(view=""))}, live.found
            except (LogbookError, OSError) as error:  # the store changes just now
                trouble = told(error, self.follower.workspace)
        return {**self._status, "running": live.runs, "series": live.series, "trouble": trouble}

    def lines(self, height: int | None = None) -> list[Line]:
        data = self.look()
        return lines_of(data, status_lines(self._status) if self._status else (), height)


def _as_json(watched: _Watched) -> None:
    before = None
    while True:
        data = watched.look()
        if data != before:
            emit_line("watch", data, warnings=watched.follower.workspace.warnings)
            before = data
        time.sleep(LOOK_S)


def _on_terminal(watched: _Watched) -> None:
    from rich.console import Console
    from rich.live import Live

    console = Console(highlight=False)
    shown = _text(watched)
    live = Live(shown, console=console, screen=True, auto_refresh=False)
    try:
        # As a context it would leave the terminal as it is when the first drawing is interrupted.
        live.start()
        while True:
            shown = _text(watched)
            live.update(shown, refresh=True)
            time.sleep(LOOK_S)
    finally:
        live.stop()
        # What was seen last stays on the screen.
        console.print(shown)
        sys.stdout.flush()


def _text(watched: _Watched) -> Text:
    from rich.text import Text

    has_colour = not os.environ.get("NO_COLOR")
    text = Text(no_wrap=True, overflow="ellipsis", end="")
    for number, line in enumerate(watched.lines(shutil.get_terminal_size().lines)):
        text.append("\n" if number else "")
        for part, style in line:
            text.append(clean(part), style=style if has_colour else "")
    return text
