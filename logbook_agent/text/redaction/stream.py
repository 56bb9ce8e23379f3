"""Secrets out of a byte stream of any size, in bounded memory and whatever its chunks.

Whole lines are redacted as they come. A longer line than `piece_bytes` leaves in pieces, cut where no secret
stands: `_HOLD_BYTES` at its end are held back, so that everything which begins before the cut is seen, and a
secret that reaches over the cut moves it to the left. Bytes that are not UTF-8 pass through unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from logbook_agent.text.redaction.lines import LineRedactor
from logbook_agent.text.redaction.names import mark
from logbook_agent.text.redaction.redactor import Redactor

PIECE_BYTES = 64 * 1024
# Above what a secret needs to be recognised: name, separator and the first characters of its value.
_HOLD_BYTES = 4096
_BLANK = re.compile(rb"[ \t\r\f\v]")
_VALUE_ENDS = re.compile(rb"""[\s"'`]""")


class StreamRedactor:
    """`feed` what was read; what comes back is safe to write."""

    def __init__(self, redactor: Redactor, *, piece_bytes: int = PIECE_BYTES) -> None:
        self._redactor = redactor
        self._lines = LineRedactor(redactor.line)
        self._needles = redactor.needles
        self._hold = max(_HOLD_BYTES, *map(len, self._needles), 0)
        self._piece = max(piece_bytes, 4 * self._hold)
        self._spaced = tuple(n for n in self._needles if _BLANK.search(n))
        self._pending = bytearray()
        # Inside a value that is longer than a piece: dropped up to its end.
        self._dropping = False

    def feed(self, data: bytes) -> bytes:
        """The part of the data, and of what was held back before, that is safe to write now."""
        out: list[bytes] = []
        for start in range(0, len(data), self._piece):
            self._feed_block(data[start : start + self._piece], out)
        return b"".join(out)

    def flush_idle(self) -> bytes:
        """Part of an incomplete line, when nothing has come for a while; not what may become a secret."""
        if self._dropping or self._lines.wants_next:
            return b""
        data = bytes(self._pending)
        cut = _after_blank(data, min(self._redactor.gate.first_start(data), len(data)))
        cut = self._before_known(data, cut)
        if cut == 0:
            return b""
        del self._pending[:cut]
        return self._redacted(data[:cut])

    def finish(self) -> bytes:
        """The rest; a last line may lack its newline."""
        out: list[bytes] = []
        self._end_line(out, b"")
        return b"".join(out)

    def _feed_block(self, block: bytes, out: list[bytes]) -> None:
        if self._pending or self._dropping:
            newline = block.find(b"\n")
            self._pending += block if newline < 0 else block[:newline]
            self._emit_pieces(out)
            if newline < 0:
                return
            self._end_line(out, b"\n")
            block = block[newline + 1 :]
        end = block.rfind(b"\n") + 1
        if end:
            self._whole_lines(block[:end], out)
        self._pending += block[end:]
        self._emit_pieces(out)

    def _whole_lines(self, block: bytes, out: list[bytes]) -> None:
        flagged = iter(self._redactor.gate.flagged_lines(block))
        start = next(flagged, len(block))
        at = 0
        while at < len(block):
            if not self._lines.wants_next:
                while start < at:
                    start = next(flagged, len(block))
                out.append(block[at:start])
                at = start
                if at == len(block):
                    return
            end = block.index(b"\n", at)
            self._emit_line(block[at:end], out, b"\n")
            at = end + 1

    def _emit_line(self, line: bytes, out: list[bytes], newline: bytes) -> None:
        done = self._lines.line(line.decode("utf-8", "surrogateescape"))
        if done is not None:
            out.append(done.encode("utf-8", "surrogateescape") + newline)

    def _end_line(self, out: list[bytes], newline: bytes) -> None:
        self._drop_value()
        line = bytes(self._pending)
        self._pending.clear()
        self._dropping = False
        if self._lines.wants_next or self._redactor.gate.flags(line):
            self._emit_line(line, out, newline)
        else:
            out.append(line + newline)

    def _emit_pieces(self, out: list[bytes]) -> None:
        """Leaves less than a piece pending. Where it cuts depends on the line alone, not on its chunks."""
        while len(self._pending) >= self._piece:
            self._drop_value()
            if len(self._pending) < self._piece:
                return
            piece = bytes(self._pending[: self._piece])
            is_flagged = self._redactor.gate.flags(piece)
            cut = self._safe_cut(piece, is_flagged)
            if cut == 0:
                out.append(mark("long-value").encode())
                del self._pending[: self._piece]
                self._dropping = True
                continue
            out.append(self._redacted(piece[:cut]) if is_flagged or self._lines.wants_next else piece[:cut])
            del self._pending[:cut]

    def _drop_value(self) -> None:
        if self._dropping:
            end = _VALUE_ENDS.search(self._pending)
            del self._pending[: len(self._pending) if end is None else end.start()]
            self._dropping = end is None

    def _safe_cut(self, piece: bytes, is_flagged: bool) -> int:
        """The last place, short of what is held back, that no secret reaches over; after a blank if near."""
        limit = len(piece) - self._hold
        cut = _after_blank(piece, limit, limit - 1024) or limit
        if not is_flagged:
            return cut
        # Byte by byte, so that the places found are places in the bytes.
        spans = self._redactor.spans(piece.decode("latin-1"))
        for needle in self._needles:
            at = piece.find(needle)
            while at >= 0:
                spans.append((at, at + len(needle)))
                at = piece.find(needle, at + 1)
        while True:
            reaching = [start for start, end in spans if start < cut < end]
            if not reaching:
                return cut
            cut = min(reaching)

    def _before_known(self, data: bytes, cut: int) -> int:
        """The cut, moved left of any known secret with blanks in it that has begun before the cut."""
        for needle in self._spaced:
            first = max(0, cut - len(needle) + 1)
            for start in range(first, cut):
                if needle.startswith(data[start : start + len(needle)]):
                    cut = start
                    break
        return cut

    def _redacted(self, piece: bytes) -> bytes:
        out: list[bytes] = []
        if self._lines.wants_next or self._redactor.gate.flags(piece):
            self._emit_line(piece, out, b"")
            return b"".join(out)
        return piece


def redacted_pieces(pieces: Iterable[bytes], redactor: Redactor) -> Iterator[bytes]:
    """The pieces of a log that leaves, without what is known as a secret by now."""
    stream = StreamRedactor(redactor)
    for piece in pieces:
        yield stream.feed(piece)
    yield stream.finish()


def _after_blank(data: bytes, end: int, start: int = 0) -> int:
    """The place after the last blank in `data[start:end]`, or 0."""
    return max(data.rfind(blank, max(start, 0), end) for blank in (b" ", b"\t", b"\r")) + 1
