"""What a terminal shows while runs are made: their output above a progress line, or the live lines of a series."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import Literal

from rich.text import Text

from logbook_agent.cli.output import (
    LineDisplay,
    LiveDisplay,
    clean,
    is_drawn_on,
    making_room,
    say,
)
from logbook_agent.model.series_progress import SeriesProgress
from logbook_agent.report.terminal.child_output import ChildOutput
from logbook_agent.report.terminal.progress_lines import (
    elapsed_text,
    progress_line,
    rendered,
    series_lines,
    terminal_size,
)
from logbook_agent.report.terminal.region import Region, erased_when_suspended

# The live lines of a series take longer to draw, and no time of what is measured.
_REDRAW_S, _SERIES_REDRAW_S = 0.1, 1.0
_STDERR = 2


class RunDisplay(LiveDisplay):
    """Copies a run's output to ours, on a terminal above a progress line, which is drawn only where the output stands
    at the start of a line."""

    def __init__(self, *, all_to_stderr: bool) -> None:
        super().__init__(all_to_stderr=all_to_stderr)
        self._region = Region(_STDERR if is_drawn_on(sys.stderr) else None)
        self._on_terminal: dict[Literal["stdout", "stderr"], bool] = {
            "stdout": is_drawn_on(sys.stderr if all_to_stderr else sys.stdout),
            "stderr": is_drawn_on(sys.stderr),
        }
        self._begin()

    def _begin(self) -> None:
        """A run begins."""
        self._shown = {stream: ChildOutput() for stream, is_on in self._on_terminal.items() if is_on}
        self._is_fresh = True
        self._has_colours = False
        self._last: str | None = None
        self._bytes = 0
        self._started = self._drawn_at = time.monotonic()

    @contextlib.contextmanager
    def shown(self) -> Iterator[RunDisplay]:
        """Draw until it is left."""
        with making_room(self._region.erase), erased_when_suspended(self._region, self._draw):
            yield self

    def output(self, stream: Literal["stdout", "stderr"], data: bytes) -> None:
        self._bytes += len(data)
        shown = self._shown.get(stream)
        if shown is None:
            super().output(stream, data)
        else:
            self._print(stream, shown.feed(data))
        self._draw_now_and_then()

    def tick(self, last_result: str | None, log_bytes: int) -> None:
        self._last, self._bytes = last_result, log_bytes
        self._draw_now_and_then()

    def done(self) -> None:
        for stream, shown in self._shown.items():
            self._print(stream, shown.finish())
        self._region.erase()
        if self._has_colours:
            self._region.plain()
        if not self._is_fresh:
            # What follows begins a line of its own.
            print(file=sys.stderr, flush=True)
        self._begin()

    def _print(self, stream: Literal["stdout", "stderr"], data: bytes) -> None:
        if not data:
            return
        self._region.erase()
        super().output(stream, data)
        self._is_fresh = data.endswith(b"\n")
        self._has_colours = self._has_colours or b"\x1b" in data

    def _draw_now_and_then(self) -> None:
        if time.monotonic() - self._drawn_at >= _REDRAW_S:
            self._draw()

    def _draw(self) -> None:
        if not self._is_fresh:
            return
        self._drawn_at = now = time.monotonic()
        width = terminal_size(_STDERR).columns
        line = progress_line(now - self._started, self._last, self._bytes, width - 1)
        self._region.draw(rendered(Text(clean(line), style="dim"), width=width - 1))


class SeriesDisplay(LineDisplay):
    """A series in live lines: how much is made, the changes so far with their intervals, how long the rest takes.
    Its other lines, and what came out of each run of a sweep, stay above them."""

    def __init__(self) -> None:
        self._region = Region(_STDERR)
        self._series: SeriesProgress | None = None
        self._started, self._drawn_at = time.monotonic(), 0.0

    @contextlib.contextmanager
    def shown(self) -> Iterator[SeriesDisplay]:
        """Draw until it is left."""
        with making_room(self._region.erase), erased_when_suspended(self._region, self._draw):
            yield self

    def output(self, stream: Literal["stdout", "stderr"], data: bytes) -> None:
        self._draw_now_and_then()

    def tick(self, last_result: str | None, log_bytes: int) -> None:
        self._draw_now_and_then()

    def progress(self, text: str, series: SeriesProgress | None = None) -> None:
        if series is not None:
            self._series = series
        # The live lines say what the line of a pair does.
        if text and (series is None or not series.estimates):
            say(text)
        self._draw()

    def _draw_now_and_then(self) -> None:
        if time.monotonic() - self._drawn_at >= _SERIES_REDRAW_S:
            self._draw()

    def _draw(self) -> None:
        if self._series is None:
            return
        self._drawn_at = now = time.monotonic()
        size = terminal_size(_STDERR)
        lines = series_lines(self._series, elapsed_text(now - self._started), size.columns - 1)
        self._region.draw(lines[: max(1, size.lines - 1)])
