"""Secrets out of a byte stream, in bounded memory and whatever its chunks.

Lines of up to LINE_BYTES are redacted whole. A longer one leaves in pieces, cut at a blank where one is near: a known
secret and one that is found in the piece are hidden there too, but what only the two pieces together would show is not.
Bytes that are not UTF-8 pass through unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from logbook_agent.text.redaction.lines import Lines
from logbook_agent.text.redaction.redactor import Redactor

LINE_BYTES = 256 * 1024
# Held back of a longer line: more than a secret needs to be recognised.
_HOLD_BYTES = 8192
_BLANKS = (b" ", b"\t", b"\r")
# A value may stand before its name: `"VALUE" == name`.
_QUOTES = (b'"', b"'", b"`")


class StreamRedactor:
    """`feed` what was read; what comes back is safe to write."""

    def __init__(self, redactor: Redactor, *, line_bytes: int = LINE_BYTES) -> None:
        self._redactor = redactor
        self._lines = Lines(redactor)
        self._limit = line_bytes
        self._pending = bytearray()
        # How much of the pending line was shown already, as it was.
        self._shown = 0

    def feed(self, data: bytes) -> bytes:
        """The part of the data, and of what was held back before, that is safe to write now."""
        out: list[bytes] = []
        for start in range(0, len(data), self._limit):
            self._feed(data[start : start + self._limit], out)
        return b"".join(out)

    def _feed(self, data: bytes, out: list[bytes]) -> None:
        """Of a piece of data that holds no line which is too long, whole lines are redacted together."""
        if self._pending and (end := data.find(b"\n")) >= 0:
            self._add(data[:end], out)
            out.append(self._taken(len(self._pending), b"\n"))
            data = data[end + 1 :]
        whole = data.rfind(b"\n") + 1
        if whole:
            lines = data[: whole - 1].decode("utf-8", "surrogateescape")
            out += [f"{done}\n".encode("utf-8", "surrogateescape") for done in self._lines.lines(lines)]
        self._add(data[whole:], out)

    def flush_idle(self) -> bytes:
        """The words of an incomplete line that are ordinary, when nothing has come for a while."""
        data = bytes(self._pending)
        quote = min((at for at in map(data.find, _QUOTES) if at >= 0), default=len(data))
        cut = max(data.rfind(blank, 0, quote) for blank in _BLANKS) + 1
        text = data.decode("latin-1")
        may_hold = self._redactor.has_bare(text) or self._redactor.next_line(text.lower(), 0) is not None
        if cut <= self._shown or self._lines.goes_on or may_hold:
            return b""
        # A known secret of several words may have begun.
        if any(needle.partition(b" ")[0] in data for needle in self._redactor.needles if b" " in needle):
            return b""
        shown, self._shown = self._shown, cut
        return data[shown:cut]

    def finish(self) -> bytes:
        """The rest; a last line may lack its newline."""
        return self._taken(len(self._pending)) if self._pending else b""

    def _add(self, data: bytes, out: list[bytes]) -> None:
        self._pending += data
        while len(self._pending) > self._limit + _HOLD_BYTES:
            out.append(self._taken(self._cut()))

    def _cut(self) -> int:
        """Where the first piece ends of a line that is longer than one: at a blank, in no secret."""
        piece = bytes(self._pending[: self._limit + _HOLD_BYTES])
        cut = max(piece.rfind(blank, self._limit - _HOLD_BYTES, self._limit) for blank in _BLANKS) + 1 or self._limit
        # Byte by byte, so that the places found are places in the bytes.
        for span in sorted(self._redactor.spans(piece.decode("latin-1")), reverse=True):
            if span.begin < cut < span.end:
                cut = span.begin
        return cut if cut > self._shown else self._limit

    def _taken(self, count: int, newline: bytes = b"") -> bytes:
        """The first bytes of the pending line, without secrets and what was shown of them."""
        line, shown = bytes(self._pending[:count]), self._shown
        del self._pending[:count]
        self._shown = 0
        text = self._lines.line(line.decode("utf-8", "surrogateescape"))
        if text is None:
            return b""
        done = text.encode("utf-8", "surrogateescape") + newline
        return done[shown:] if done[:shown] == line[:shown] else b"\n" + done


def redacted_pieces(pieces: Iterable[bytes], redactor: Redactor) -> Iterator[bytes]:
    """The pieces of a log that leaves, without what is known as a secret by now."""
    stream = StreamRedactor(redactor)
    for piece in pieces:
        yield stream.feed(piece)
    yield stream.finish()
