"""The first and last lines of a log, readable and bounded, with its digest and size."""

from __future__ import annotations

import dataclasses
import hashlib
from collections import deque
from collections.abc import Iterable

from logbook_agent.model.run import Output
from logbook_agent.running.launch.output_log import TAIL_LINES, Redact, readable

HEAD_LINES = 20
# Of one line; what is shown of it is much shorter.
_LINE_BYTES = 64 * 1024


class LogExcerpt:
    """Feed it the log; `output` says what it holds."""

    def __init__(self, redact: Redact) -> None:
        self._redact, self._lines = redact, _Lines()
        self._digest, self._size, self._count, self._last = hashlib.sha256(), 0, 0, b""
        self._head: list[tuple[bytes, int]] = []
        self._tail: deque[tuple[bytes, int]] = deque(maxlen=TAIL_LINES)

    @property
    def digest(self) -> str:
        """The SHA-256 of what it was given."""
        return self._digest.hexdigest()

    def feed(self, data: bytes) -> None:
        self._digest.update(data)
        self._size += len(data)
        self._count += data.count(b"\n")
        self._last = data[-1:] or self._last
        self._add(self._lines.feed(data))

    def output(self, counted: Output | None) -> Output:
        """What was printed, as far as it reached the log, or as its worker has `counted` it; the last lines are the
        worker's where the log lacks them."""
        self._add(self._lines.finish())
        lines = self._count + (self._last not in (b"", b"\n"))
        counted = counted or Output(bytes=self._size, lines=lines, sha256="")
        return dataclasses.replace(
            counted,
            sha256=self.digest,
            log_bytes=self._size,
            head=self._shown(self._head),
            tail=counted.tail or self._shown(self._tail),
        )

    def _add(self, lines: list[tuple[bytes, int]]) -> None:
        self._head += lines[: HEAD_LINES - len(self._head)]
        self._tail.extend(lines)

    def _shown(self, lines: Iterable[tuple[bytes, int]]) -> tuple[str, ...]:
        return tuple(readable(line, self._redact, cut) for line, cut in lines)


class _Lines:
    """Bytes of one stream into whole lines, each with the number of bytes left out of it."""

    def __init__(self) -> None:
        self._pending = bytearray()
        self._cut = 0

    def feed(self, data: bytes) -> list[tuple[bytes, int]]:
        """The first and last of the lines that the data completes."""
        first, newline, rest = data.partition(b"\n")
        self._hold(first)
        if not newline:
            return []
        lines = [(bytes(self._pending), self._cut)]
        self._pending.clear()
        self._cut = 0
        end = rest.rfind(b"\n")
        if end >= 0:
            lines += [_bounded(line) for line in _ends(rest[:end])]
        self._hold(rest[end + 1 :])
        return lines

    def finish(self) -> list[tuple[bytes, int]]:
        """The last line, when it has no end."""
        last = [(bytes(self._pending), self._cut)] if self._pending else []
        self._pending.clear()
        return last

    def _hold(self, data: bytes) -> None:
        # A progress bar draws over itself: what it drew before need not be kept.
        drawn = data.rstrip(b"\r").rfind(b"\r")
        if drawn >= 0 and data[drawn + 1 :].strip():
            self._pending.clear()
            self._cut = 0
            data = data[drawn + 1 :]
        elif self._pending.endswith(b"\r") and data.strip(b"\r\n "):
            self._pending.clear()
            self._cut = 0
        room = _LINE_BYTES - len(self._pending)
        self._pending += data[:room]
        self._cut += max(0, len(data) - room)


def _ends(block: bytes) -> list[bytes]:
    lines = block.split(b"\n")
    return lines if len(lines) <= 2 * TAIL_LINES else lines[:HEAD_LINES] + lines[-TAIL_LINES:]


def _bounded(line: bytes) -> tuple[bytes, int]:
    return line[:_LINE_BYTES], max(0, len(line) - _LINE_BYTES)
