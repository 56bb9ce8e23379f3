"""Readable lines of an output, a bounded number of them."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable

from logbook_agent.running.launch.lines import strip_ansi

LINE_CHARACTERS = 500
# Of one line; what is shown of it is much shorter.
_LINE_BYTES = 64 * 1024
# Controls, line separators and what turns the direction of text: they would change what stands around them.
_UNPRINTABLE = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")

Redact = Callable[[str], str]


def readable(line: bytes, redact: Redact, cut_bytes: int = 0) -> str:
    """One line as a person would have seen it: without colours, the last state of a progress bar, cut.

    `cut_bytes`: how much of the line was left out before. Redacted once more, since a colour code may have
    stood inside a secret.
    """
    states = [s for s in (strip_ansi(s) for s in line.decode("utf-8", "replace").split("\r")) if s.strip()]
    text = _UNPRINTABLE.sub(_escaped, redact(states[-1] if states else ""))
    more = max(0, len(text) - LINE_CHARACTERS) + cut_bytes
    return f"{text[:LINE_CHARACTERS]}… (+{more} characters)" if more else text


def _escaped(match: re.Match[str]) -> str:
    number = ord(match[0])
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


class LineCollector:
    """Bytes of one stream into whole lines, each with the number of bytes left out of it."""

    def __init__(self) -> None:
        self._pending = bytearray()
        self._cut = 0

    def feed(self, data: bytes, keep: int) -> list[tuple[bytes, int]]:
        """The first `keep` and last `keep` of the lines that the data completes."""
        first, newline, rest = data.partition(b"\n")
        self._hold(first)
        if not newline:
            return []
        lines = [(bytes(self._pending), self._cut)]
        self._pending.clear()
        self._cut = 0
        end = rest.rfind(b"\n")
        if end >= 0:
            lines += [_bounded(line) for line in _ends(rest[:end], keep)]
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


def _ends(block: bytes, keep: int) -> list[bytes]:
    lines = block.split(b"\n")
    return lines if len(lines) <= 2 * keep else lines[:keep] + lines[-keep:]


def _bounded(line: bytes) -> tuple[bytes, int]:
    return line[:_LINE_BYTES], max(0, len(line) - _LINE_BYTES)


class Excerpt:
    """The first and the last lines of what it is given."""

    def __init__(self, head: int, tail: int, redact: Redact) -> None:
        self._redact = redact
        self._head_lines = head
        self._head: list[str] = []
        self._tail: deque[tuple[bytes, int]] = deque(maxlen=tail)

    def add(self, lines: list[tuple[bytes, int]]) -> None:
        for line in lines[: self._head_lines - len(self._head)]:
            self._head.append(readable(line[0], self._redact, line[1]))
        self._tail.extend(lines)

    def head(self) -> tuple[str, ...]:
        return tuple(self._head)

    def tail(self) -> tuple[str, ...]:
        return tuple(readable(line, self._redact, cut) for line, cut in self._tail)
