"""What a terminal shows while runs are made: their output above a progress line, or the live lines of a series."""

from __future__ import annotations

import abc
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Literal, Self

from rich.text import Text

from logbook_agent.cli.output import LineDisplay, LiveDisplay, clean, is_drawn_on, making_room, say
from logbook_agent.model.record import SeriesProgress
from logbook_agent.report.terminal.progress_lines import (
    elapsed_text,
    progress_line,
    rendered,
    series_lines,
    terminal_size,
)

_ERASE = "\r\x1b[J"
_PLAIN = "\x1b[0m"
# A line that was made for a wider window is cut at its edge, and takes no second row.
_CROPPED, _WRAPPED = "\x1b[?7l", "\x1b[?7h"


class Region:
    """Draws on the terminal behind a descriptor; None: there is no terminal, and nothing is drawn."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        self._is_drawn = False

    def draw(self, lines: Sequence[str]) -> None:
        """Replace what is drawn. The lines must fit the width. A job in the background draws nothing."""
        if self._descriptor is None or not lines or not _is_in_front(self._descriptor):
            return
        up = f"\x1b[{len(lines) - 1}A" if len(lines) > 1 else ""
        self._is_drawn = True
        shown = "\r\n".join(lines)
        self._write(f"{_ERASE}{_PLAIN}{_CROPPED}{shown}{_PLAIN}{_WRAPPED}\r{up}")

    def erase(self) -> None:
        """Leave the cursor where the first line began."""
        if self._is_drawn:
            self._is_drawn = False
            self._write(_ERASE)

    def plain(self) -> None:
        """Take back colours that a command left on."""
        self._write(_PLAIN)

    def _write(self, text: str) -> None:
        if self._descriptor is None:
            return
        sys.stderr.flush()
        data = text.encode()
        # A terminal that was closed: the runs go on.
        with contextlib.suppress(OSError):
            while data:
                data = data[os.write(self._descriptor, data) :]


def _is_in_front(descriptor: int) -> bool:
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:
        return True  # not the terminal that controls this process


@contextlib.contextmanager
def erased_when_suspended(region: Region, redraw: Callable[[], None]) -> Iterator[None]:
    """Erase the region before Ctrl-Z stops this process, and draw it again when it continues."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def suspend(number: int, frame: FrameType | None) -> None:
        region.erase()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, suspend)
        redraw()

    before = signal.getsignal(signal.SIGTSTP)
    if before is signal.SIG_DFL:
        signal.signal(signal.SIGTSTP, suspend)
    try:
        yield
    finally:
        if before is signal.SIG_DFL:
            signal.signal(signal.SIGTSTP, before)
        region.erase()


_STDERR = 2
Stream = Literal["stdout", "stderr"]


class _Drawn(abc.ABC):
    """Lines that are drawn again at most every `pace_s`."""

    pace_s: float

    def __init__(self) -> None:
        self._region = Region(_STDERR if is_drawn_on(sys.stderr) else None)
        self._started = self._drawn_at = time.monotonic()

    @contextlib.contextmanager
    def shown(self) -> Iterator[Self]:
        """Draw until it is left."""
        with making_room(self._region.erase), erased_when_suspended(self._region, self._draw):
            yield self

    def _draw_now_and_then(self) -> None:
        if time.monotonic() - self._drawn_at >= self.pace_s:
            self._draw()

    def _draw(self) -> None:
        self._drawn_at = time.monotonic()
        size = terminal_size(_STDERR)
        lines = self._lines(self._drawn_at - self._started, size.columns - 1)
        self._region.draw(lines[: max(1, size.lines - 1)])

    @abc.abstractmethod
    def _lines(self, elapsed_s: float, width: int) -> list[str]:
        """What is to be drawn now in this width."""


class RunDisplay(_Drawn, LiveDisplay):
    """Copies a run's output to ours, on a terminal above a progress line, which is drawn only where the output stands
    at the start of a line."""

    pace_s = 0.1

    def __init__(self, *, all_to_stderr: bool) -> None:
        LiveDisplay.__init__(self, all_to_stderr=all_to_stderr)
        on_terminal = {"stdout": sys.stderr if all_to_stderr else sys.stdout, "stderr": sys.stderr}
        self._on_terminal = [stream for stream, where in on_terminal.items() if is_drawn_on(where)]
        self._begin()

    def _begin(self) -> None:
        """A run begins."""
        _Drawn.__init__(self)
        self._is_fresh, self._has_colours = True, False
        self._last: str | None = None
        self._bytes = 0

    def output(self, stream: Stream, data: bytes) -> None:
        self._bytes += len(data)
        if stream in self._on_terminal and data:
            self._region.erase()
            self._is_fresh = data.endswith(b"\n")
            self._has_colours = self._has_colours or b"\x1b" in data
        super().output(stream, data)
        self._draw_now_and_then()

    def tick(self, last_result: str | None, log_bytes: int) -> None:
        self._last, self._bytes = last_result, log_bytes
        self._draw_now_and_then()

    def done(self) -> None:
        self._region.erase()
        if self._has_colours:
            self._region.plain()
        if not self._is_fresh:
            # What follows begins a line of its own.
            print(file=sys.stderr, flush=True)
        self._begin()

    def _lines(self, elapsed_s: float, width: int) -> list[str]:
        if not self._is_fresh:
            return []
        line = progress_line(elapsed_s, self._last, self._bytes, width)
        return rendered(Text(clean(line), style="dim"), width=width)


class SeriesDisplay(_Drawn, LineDisplay):
    """A series in live lines: how much is made, the changes so far with their intervals, how long the rest takes.
    Its other lines, and what came out of each run of a sweep, stay above them."""

    # They take longer to draw, and no time of what is measured.
    pace_s = 1.0
    _series: SeriesProgress | None = None

    def output(self, stream: Stream, data: bytes) -> None:
        self._draw_now_and_then()

    def tick(self, last_result: str | None, log_bytes: int) -> None:
        self._draw_now_and_then()

    def progress(self, text: str, series: SeriesProgress | None = None) -> None:
        self._series = series or self._series
        # The live lines say what the line of a pair does.
        if text and (series is None or not series.estimates):
            say(text)
        self._draw()

    def _lines(self, elapsed_s: float, width: int) -> list[str]:
        return series_lines(self._series, elapsed_text(elapsed_s), width) if self._series is not None else []
