"""What a user sees while commands run: their live output with a progress line, or a line per run."""

from __future__ import annotations

import os
import shutil
import sys
import time
from typing import BinaryIO, Literal

from logbook_agent.cli.output import clean, say

_REDRAW_S = 0.5


class LiveDisplay:
    """Copies a run's output to ours. With `all_to_stderr` stdout stays free for JSON.

    The progress line is drawn on a terminal alone, only while the cursor stands at the start of a line,
    and is wiped before anything else is written.
    """

    def __init__(self, *, all_to_stderr: bool) -> None:
        self._sinks: dict[str, BinaryIO | None] = {
            "stdout": sys.stderr.buffer if all_to_stderr else sys.stdout.buffer,
            "stderr": sys.stderr.buffer,
        }
        self._terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._drawn = False
        self._fresh_line = True
        self._started = time.monotonic()
        self._last_draw = 0.0

    def output(self, stream: Literal["stdout", "stderr"], data: bytes) -> None:
        sink = self._sinks[stream]
        if sink is None:
            return
        self._wipe()
        try:
            sink.write(data)
            sink.flush()
        except BrokenPipeError:
            # Whoever watched (head, less) is gone; the run and its record go on.
            self._sinks[stream] = None
        self._fresh_line = data.endswith(b"\n")

    def tick(self, last_result: str | None, log_bytes: int) -> None:
        now = time.monotonic()
        if not self._terminal or not self._fresh_line or now - self._last_draw < _REDRAW_S:
            return
        self._last_draw = now
        columns = shutil.get_terminal_size().columns - 1
        line = clean(progress_line(now - self._started, last_result, log_bytes, columns))
        self._wipe()
        sys.stderr.write(f"\x1b[2m{line}\x1b[0m")
        sys.stderr.flush()
        self._drawn = True

    def done(self) -> None:
        self._wipe()
        self._started = time.monotonic()

    def progress(self, text: str) -> None:
        say(text)

    def _wipe(self) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
            self._drawn = False


class LineDisplay:
    """A line per step of a series on stderr; what its commands print is in their logs."""

    def output(self, stream: str, data: bytes) -> None: ...

    def tick(self, last_result: str | None, log_bytes: int) -> None: ...

    def done(self) -> None: ...

    def progress(self, text: str) -> None:
        say(text)


_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def progress_line(elapsed_s: float, last_result: str | None, log_bytes: int, width: int) -> str:
    """`1:05 | 3.4 MiB | RESULT tokens=...`, cut to `width` characters."""
    parts = [_elapsed(elapsed_s), _size(log_bytes)]
    if last_result:
        parts.append("".join(c if c.isprintable() else " " for c in last_result))
    line = " | ".join(parts)
    return line if len(line) <= width else line[: max(0, width - 1)] + "…" * (width > 0)


def _elapsed(elapsed_s: float) -> str:
    minutes, seconds = divmod(int(elapsed_s), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


def _size(count: int) -> str:
    size, unit = float(count), 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{count} B" if unit == 0 else f"{size:.1f} {_UNITS[unit]}"
