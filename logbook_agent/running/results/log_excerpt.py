"""The first and last lines of a log, readable and bounded, with its digest and size."""

from __future__ import annotations

import dataclasses
import hashlib

from logbook_agent.model.run import Output
from logbook_agent.running.launch.output_log import TAIL_LINES, Redact, readable

HEAD_LINES = 20
# Of the beginning and of the end of a log, so much is looked at.
_SHOWN_BYTES = 256 * 1024


class LogExcerpt:
    """Feed it the log; `output` says what it holds."""

    def __init__(self, redact: Redact) -> None:
        self._redact = redact
        self._digest, self._size, self._count = hashlib.sha256(), 0, 0
        self._head = self._tail = b""

    @property
    def digest(self) -> str:
        """The SHA-256 of what it was given."""
        return self._digest.hexdigest()

    def feed(self, data: bytes) -> None:
        self._digest.update(data)
        self._size += len(data)
        self._count += data.count(b"\n")
        self._head += data[: _SHOWN_BYTES - len(self._head)]
        self._tail = (self._tail + data[-_SHOWN_BYTES:])[-_SHOWN_BYTES:]

    def output(self, counted: Output | None) -> Output:
        """What was printed, as far as it reached the log, or as its worker has `counted` it; the last lines are the
        worker's where the log lacks them."""
        lines = self._count + (not self._tail.endswith(b"\n") and self._size > 0)
        is_whole = self._size <= _SHOWN_BYTES
        head, last = _lines_of(self._head), _lines_of(self._tail)
        # A line of which the beginning is missing is shown where there is no other.
        last = last if is_whole or len(last) == 1 else last[1:]
        counted = counted or Output(bytes=self._size, lines=lines, sha256="")
        return dataclasses.replace(
            counted,
            sha256=self.digest,
            log_bytes=self._size,
            head=self._shown(head[:HEAD_LINES], is_cut=not is_whole and len(head) <= HEAD_LINES),
            tail=counted.tail or self._shown(last[-TAIL_LINES:], is_cut=not is_whole and len(last) == 1),
        )

    def _shown(self, lines: list[bytes], *, is_cut: bool) -> tuple[str, ...]:
        """The lines as a person reads them. `is_cut`: a part of the last one is missing."""
        end = len(lines) - is_cut
        return tuple(readable(line, self._redact, is_cut=place == end) for place, line in enumerate(lines))


def _lines_of(data: bytes) -> list[bytes]:
    return data.removesuffix(b"\n").split(b"\n") if data else []
