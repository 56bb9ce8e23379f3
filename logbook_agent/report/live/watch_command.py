"""`logbook watch`: what goes on in a logbook, in the terminal."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from logbook_agent.cli.options import Common
from logbook_agent.cli.output import clean, draws, emit, emit_line
from logbook_agent.cli.spaces import workspace
from logbook_agent.cli.status_commands import status_lines
from logbook_agent.findings.status import OnMachine, status
from logbook_agent.model.errors import LogbookError
from logbook_agent.report.live.follower import LOOK_S, Follower, LiveBook
from logbook_agent.report.live.watch_lines import Line, lines_of
from logbook_agent.store.workspace import Workspace

if TYPE_CHECKING:
    from rich.text import Text


def standing(followed: LiveBook) -> dict[str, Any]:
    """Where the thread stands, as `status` has it. Raises LogbookError where a record vanishes meanwhile."""
    return status(followed.found, OnMachine(view="")) if followed.found is not None else {}


_REDRAW_S = 1.0
_TERMINATED = 128 + signal.SIGTERM


def watch_command(*, common: Common) -> None:
    """Show what is running and where the thread stands, live.

    On a terminal it keeps updating until Ctrl-C and then exits with 130, like `tail -f`. Otherwise it prints this once;
    with --json, one line of JSON at the start and one per change. It is read-only: it does not collect ended runs.
    Example: logbook watch
    """
    with ends_well():
        space = looking(common)
        book = space.book()
        follower = Follower(lambda: looking(common, space.root), book.topic)
        with contextlib.closing(follower):
            if common.as_json:
                _as_json(follower)
            elif draws():
                _on_terminal(follower)
            else:
                text = "\n".join("".join(part for part, _ in line) for line in _lines(follower, _Seen(), width=None))
                emit("watch", None, text, as_json=False, warnings=follower.workspace.warnings)


def looking(common: Common, root: Path | None = None) -> Workspace:
    """A workspace that changes nothing in the root: it collects no run."""
    return replace(workspace(common.logbook, str(root) if root is not None else common.root), arrive=None)


@contextlib.contextmanager
def ends_well() -> Iterator[None]:
    """TERM ends it as Ctrl-C does: the terminal is put back."""

    def ended(number: int, frame: FrameType | None) -> None:
        raise SystemExit(_TERMINATED)

    before = signal.signal(signal.SIGTERM, ended)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class _Seen:
    """The data of `logbook watch`; what follows from the records is computed again only when they have changed."""

    def __init__(self) -> None:
        self._version: int | None = None
        self._data: dict[str, Any] = {}

    def data(self, follower: Follower) -> dict[str, Any]:
        followed = follower.look()
        trouble = followed.trouble
        if self._version != followed.version:
            try:
                self._data = standing(followed)
                self._version = followed.version
            except (LogbookError, OSError) as error:
                trouble = str(error)  # the store changes just now; the next look reads it again
        return {**self._data, "running": followed.going["runs"], "series": followed.going["series"], "trouble": trouble}


def _as_json(follower: Follower) -> None:
    seen, before = _Seen(), None
    while True:
        data = seen.data(follower)
        if data != before:
            emit_line("watch", data, warnings=follower.workspace.warnings)
            before = data
        time.sleep(LOOK_S)


def _lines(follower: Follower, seen: _Seen, *, width: int | None, height: int | None = None) -> list[Line]:
    data = seen.data(follower)
    page = {name: value for name, value in data.items() if name not in ("running", "series", "trouble")}
    lines = status_lines(page) if page else ()
    return lines_of(data, lines, datetime.now(UTC), width=width, height=height)


def _on_terminal(follower: Follower) -> None:
    from rich.console import Console
    from rich.live import Live

    console, seen = Console(highlight=False), _Seen()

    def now() -> Text:
        size = shutil.get_terminal_size()
        return _text(_lines(follower, seen, width=size.columns, height=size.lines))

    shown, drawn = now(), 0.0
    live = Live(shown, console=console, screen=True, auto_refresh=False)
    try:
        # As a context it would leave the terminal as it is when the first drawing is interrupted.
        live.start()
        while True:
            before, shown = shown, now()
            if shown != before or time.monotonic() - drawn > _REDRAW_S:
                live.update(shown, refresh=True)
                drawn = time.monotonic()
            time.sleep(LOOK_S)
    finally:
        live.stop()
        # What was seen last stays on the screen.
        console.print(shown)
        sys.stdout.flush()


def _text(lines: list[Line]) -> Text:
    from rich.text import Text

    has_colour = not os.environ.get("NO_COLOR")
    text = Text(no_wrap=True, overflow="crop", end="")
    for number, line in enumerate(lines):
        text.append("\n" if number else "")
        for part, style in line:
            text.append(clean(part), style=style if has_colour else "")
    return text
