"""Secrets out of a byte stream, in bounded memory and whatever its chunks.

Lines of up to LINE_BYTES are redacted whole. A longer one leaves in pieces, cut at a blank where one is near: a known
secret and one that is found in the piece are hidden there too, but what only the two pieces together would show is not.
Bytes that are not UTF-8 pass through unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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
        self._limit = line_bytes
        # The line that is not complete, and those before it that wait for more.
        self._pending = bytearray()
        # How much of it was shown already, as it was.
        self._shown = 0

    def feed(self, data: bytes) -> bytes:
        """The part of the data, and of what was held back before, that is safe to write now."""
        starts = range(0, len(data), self._limit)
        return b"".join(piece for start in starts for piece in self._fed(data[start : start + self._limit]))

    def _fed(self, data: bytes) -> Iterator[bytes]:
        line, end = self._pending.rfind(b"\n") + 1, data.find(b"\n")
        self._pending += data if end < 0 else data[:end]
        while len(self._pending) - line > self._limit + _HOLD_BYTES:
            yield self._taken(line + self._cut(line))
            line = 0
        if end < 0:
            return
        self._pending += data[end:]
        lines = _text(bytes(self._pending[: self._pending.rfind(b"\n") + 1]))
        waits = self._redactor.unfinished(lines[:-1])
        whole = lines.rfind("\n", 0, waits + 1) + 1 if len(lines) - waits <= self._limit else len(lines)
        if whole:
            yield self._taken(len(_bytes(lines[:whole])))

    def flush_idle(self) -> bytes:
        """The words of an incomplete line that are ordinary, when nothing has come for a while."""
        data, needles = bytes(self._pending), self._redactor.needles
        quote = min((at for at in map(data.find, _QUOTES) if at >= 0), default=len(data))
        cut = max(data.rfind(blank, 0, quote) for blank in _BLANKS) + 1
        if cut <= self._shown or b"\n" in data or self._redactor.may_hold(_text(data)):
            return b""
        # A known secret of several words may have begun.
        if any(needle.partition(b" ")[0] in data for needle in needles if b" " in needle):
            return b""
        shown, self._shown = self._shown, cut
        return data[shown:cut]

    def finish(self) -> bytes:
        """The rest; a last line may lack its newline."""
        return self._taken(len(self._pending)) if self._pending else b""

    def _cut(self, line: int) -> int:
        """Where the first piece ends of a line that is longer than one: at a blank, in no secret."""
        piece = bytes(self._pending[line : line + self._limit + _HOLD_BYTES])
        cut = max(piece.rfind(blank, self._limit - _HOLD_BYTES, self._limit) for blank in _BLANKS) + 1 or self._limit
        text = _text(piece)
        for span in sorted(self._redactor.spans(text), reverse=True):
            if (begin := len(_bytes(text[: span.begin]))) < cut < len(_bytes(text[: span.end])):
                cut = begin
        return cut if line or cut > self._shown else self._limit

    def _taken(self, count: int) -> bytes:
        """The first bytes that are pending, without secrets and what was shown of them."""
        data, shown = bytes(self._pending[:count]), self._shown
        del self._pending[:count]
        self._shown = 0
        done = _bytes(self._redactor.text(_text(data)))
        return done[shown:] if done[:shown] == data[:shown] else b"\n" + done


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def redacted_pieces(pieces: Iterable[bytes], redactor: Redactor) -> Iterator[bytes]:
    """The pieces of a log that leaves, without what is known as a secret by now."""
    stream = StreamRedactor(redactor)
    for piece in pieces:
        yield stream.feed(piece)
    yield stream.finish()
