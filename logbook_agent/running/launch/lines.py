"""Complete lines out of a byte stream, for whoever reads results from them."""

from __future__ import annotations

import re

MAX_LINE_BYTES = 16 * 1024 * 1024

_ANSI = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC: titles, links
    r"|[PX^_][^\x1b]*(?:\x1b\\)?"  # DCS, SOS, PM, APC
    r"|[ -/]+[0-~]"  # character sets
    r"|[0-OQ-WYZ\\`-~])"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)


def strip_ansi(text: str) -> str:
    return _ANSI.sub("", text) if "\x1b" in text or "\x9b" in text else text


class LineSplitter:
    """Decoded lines without escape sequences; a carriage return ends one too, and empty ones are left out.

    A line of more than `max_line_bytes` is dropped and counted in `dropped`.
    """

    def __init__(self, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self.dropped = 0
        self._max = max_line_bytes
        self._pending = bytearray()
        self._dropping = False

    def feed(self, data: bytes) -> list[str]:
        """The lines that the data completes."""
        if b"\r" in data:
            data = data.replace(b"\r", b"\n")
        end = data.rfind(b"\n")
        if end < 0:
            self._hold(data)
            return []
        first = data.index(b"\n")
        self._hold(data[:first])
        lines = self.finish()
        lines += self._decoded(data[first + 1 : end])
        self._hold(data[end + 1 :])
        return lines

    def finish(self) -> list[str]:
        """The last line, when it has no end."""
        line = bytes(self._pending)
        self._pending.clear()
        self._dropping = False
        return self._decoded(line)

    def _hold(self, data: bytes) -> None:
        if self._dropping:
            return
        if len(self._pending) + len(data) > self._max:
            self._pending.clear()
            self._dropping = True
            self.dropped += 1
            return
        self._pending += data

    def _decoded(self, block: bytes) -> list[str]:
        if len(block) > self._max:
            kept = [line for line in block.split(b"\n") if len(line) <= self._max]
            self.dropped += block.count(b"\n") + 1 - len(kept)
            block = b"\n".join(kept)
        if not block:
            return []
        return [line for line in strip_ansi(block.decode("utf-8", "replace")).split("\n") if line]
