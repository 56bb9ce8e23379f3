"""What the Python API shows of runs: on stderr, since stdout is the script's."""

from __future__ import annotations

import codecs
import sys

from logbook_agent.model.record import SeriesProgress
from logbook_agent.running.launch.process import Stream


def to_stderr(text: str) -> None:
    """Print a line for people."""
    print(text, file=sys.stderr, flush=True)


class ProgressDisplay:
    """A line for each step of a series; the output of commands is not shown."""

    shows_output = False

    def output(self, stream: Stream, data: bytes) -> None: ...

    def tick(self, last_result: str | None, log_bytes: int) -> None: ...

    def done(self) -> None: ...

    def began(self, entry_id: str) -> None: ...

    def progress(self, text: str, series: SeriesProgress | None = None) -> None:
        if text:
            to_stderr(text)


class StderrDisplay(ProgressDisplay):
    """A run's output goes to stderr as it comes."""

    shows_output = True

    def __init__(self) -> None:
        # A function that is measured in this process has another one; that of a notebook takes text alone.
        self._stream = sys.stderr
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def output(self, stream: Stream, data: bytes) -> None:
        self._stream.write(self._decode(data))
        self._stream.flush()
