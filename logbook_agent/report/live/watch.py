"""`logbook watch`: what goes on in a logbook, in the terminal."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from logbook_agent.cli.options import Common
from logbook_agent.cli.output import clean, draws, emit, emit_line
from logbook_agent.cli.status_commands import status_lines
from logbook_agent.findings.read import Findings
from logbook_agent.findings.status import OnMachine, status
from logbook_agent.model.errors import LogbookError
from logbook_agent.report.live.follower import LOOK_S, Follower, ends_well, looking, told
from logbook_agent.report.live.live_runs import LiveRun
from logbook_agent.report.terminal.progress_lines import KINDS
from logbook_agent.text.markdown import one_line
from logbook_agent.text.phrases import duration

if TYPE_CHECKING:
    from rich.text import Text

# Pieces of text, each with its style.
Line: TypeAlias = Sequence[tuple[str, str]]
_BAR = 20
_SHOWN_LINES = 3
_STATES = {
    **dict.fromkeys(("finished", "running"), "green"),
    **dict.fromkeys(("failed", "timeout", "stalled", "lost", "never-started"), "red"),
    **dict.fromkeys(("orphaned", "unknown", "interrupted", "blocked", "submitted"), "yellow"),
}
# A worker writes a heartbeat every 5 s; one that is older than this is late.
_LATE_S = 30.0


def lines_of(data: dict[str, Any], page: Iterable[tuple[str, str]], height: int | None = None) -> list[Line]:
    """What runs, and below it the `page` of `status`: lines with their kinds. Where there are more than `height`, the
    last ones are counted."""
    lines = [*_lines(data, page, datetime.now(UTC))]
    if height is None or len(lines) < height:
        return lines
    more = len(lines) - (height - 2)
    return [*lines[: height - 2], [(f"and {more} more lines: make the window taller", "dim")]]


def _lines(data: dict[str, Any], page: Iterable[tuple[str, str]], now: datetime) -> Iterator[Line]:
    yield [(f"{now.astimezone(UTC):%H:%M:%S} UTC", "dim")]
    if data["trouble"]:
        yield [("cannot be read now: ", "bold red"), (one_line(data["trouble"]), "red")]
    yield from _running(data["running"], data["series"], now)
    yield []
    yield from ([(text, KINDS.get(kind, ""))] for text, kind in page)


def _running(runs: Sequence[LiveRun], series: Sequence[str], now: datetime) -> Iterator[Line]:
    yield []
    if not runs:
        yield [("nothing is running", "dim") if not series else (f"between two runs of {', '.join(series)}", "bold")]
        return
    yield [(f"running ({len(runs)})", "bold")]
    for one in runs:
        state = one["ended"] or one["state"]
        where = " on ".join(filter(None, [one["executor"], one["host"]])) or "here"
        label = f" {one_line(one['label'])}" if one["label"] else ""
        yield [
            ("  ", ""),
            (f"{one['id']}/{one['run']:02d}", "cyan"),
            (f"{label}  {one_line(one['title'])[:50]}", ""),
            (f"  {state}", _STATES.get(state, "yellow")),
            (f"  {where}, {_alive(one, now)}", "dim"),
        ]
        yield [("    ", ""), (_progress(one, now), "")]
        for note in filter(None, (one["said"], one["trouble"])):
            yield [("    ", ""), (one_line(note), "yellow")]
        if one["ended"]:
            yield [("    ", ""), ("not in the logbook yet: logbook status", "yellow")]
        shown = one["lines"][-_SHOWN_LINES:] or ([one["last"]] if one["last"] else [])
        yield from ([("    │ ", "dim"), (line, "dim")] for line in shown)


def _progress(one: LiveRun, now: datetime) -> str:
    """`3 of at most 16 runs ████░░░  2 min 10 s, about 5 min left`."""
    elapsed_s, progress, parts = _age_s(one["since"], now), one["progress"], []
    if progress is not None and progress["total"] is not None:
        made, total = progress["made"], progress["total"]
        filled = round(_BAR * made / total) if total else 0
        parts.append(f"{'█' * filled}{'░' * (_BAR - filled)}  {made} of {'at most ' * progress['at_most']}{total} runs")
    parts.append(f"for {_length(elapsed_s)}" if elapsed_s is not None else f"since {one['since']}")
    if progress is not None and progress["expected_s"] is not None and elapsed_s is not None:
        left_s = progress["expected_s"] - elapsed_s
        parts.append(f"about {_length(left_s)} left" if left_s > 0 else f"{_length(-left_s)} longer than usual")
    return ", ".join(parts)


def _alive(one: LiveRun, now: datetime) -> str:
    """When its worker was last known to live; of a run without one, when it last printed."""
    beat_s = _age_s(one["heartbeat"], now)
    if beat_s is not None:
        return f"heartbeat {_length(beat_s)} ago" + (" (late)" if beat_s > _LATE_S else "")
    printed_s = _age_s(one["printed"], now)
    return f"last output {_length(printed_s)} ago" if printed_s is not None else "no output yet"


def _age_s(moment: str | None, now: datetime) -> float | None:
    """How long ago that was, in whole seconds; None for what is no moment. Clocks may differ: never below 0."""
    try:
        then = datetime.fromisoformat(moment or "")
    except ValueError:
        return None
    then = then if then.tzinfo is not None else then.replace(tzinfo=UTC)
    return float(max(0, round((now - then).total_seconds())))


def _length(seconds: float) -> str:
    """A length of time that nobody wants to the hundredth."""
    return f"{max(1, round(seconds)) if seconds > 0 else 0} s" if seconds < 120 else duration(seconds)


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
