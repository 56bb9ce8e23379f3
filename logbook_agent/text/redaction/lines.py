"""Line after line, with what one line tells about the next: a key block goes on, or a name stands before its value."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from logbook_agent.text.redaction import rules
from logbook_agent.text.redaction.named import MARGIN, awaited_after
from logbook_agent.text.redaction.names import mark


class LineRedactor:
    """Redacts one line after another. `redact` does it for a line by itself."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._key_lines_left = 0
        # What stands before the key block in its first line, and so before each of its lines.
        self._key_margin = ""
        self._awaited = ""

    @property
    def wants_next(self) -> bool:
        """Whether the next line may hold a secret that nothing in it tells."""
        return self._key_lines_left > 0 or bool(self._awaited)

    def line(self, line: str) -> str | None:
        """The line (no newline in it) without secrets; None when all of it belonged to a key block."""
        if self._key_lines_left:
            end = rules.KEY_ENDS.search(line)
            if end is not None:
                self._key_lines_left = 0
                rest = line[end.end() :]
                return self.line(rest) if rest.strip() else None
            if rules.KEY_BODY.fullmatch(line.removeprefix(self._key_margin)) is not None:
                self._key_lines_left -= 1
                return None
            self._key_lines_left = 0
        # Before anything else of the line is replaced: a known secret may be a part of the key or of its frame.
        begin = open_key(line)
        if begin is not None:
            self._key_lines_left = rules.MAX_KEY_LINES
            self._key_margin = line[:begin]
            line = line[:begin] + mark("private-key")
        return self._after(line)

    def _after(self, line: str) -> str:
        """The line, read as what goes on behind the line before it."""
        awaited, self._awaited = self._awaited, awaited_after(line)
        if awaited:
            margin = MARGIN.match(line)
            at = margin.end() if margin is not None else 0
            done = self._redact(awaited + line[at:])
            if done.startswith(awaited):
                return self._redact(line[:at] + done[len(awaited) :])
        return self._redact(line)


def open_key(text: str) -> int | None:
    """Where a key block begins that has no end in this text."""
    last_end = max((m.end() for m in rules.KEY_ENDS.finditer(text)), default=0)
    begin = rules.KEY_BEGINS.search(text, last_end)
    return None if begin is None else begin.start()


def key_blocks(text: str) -> Iterator[tuple[int, int, int]]:
    """Where each key block begins, where its first frame ends, and where it ends: with the text, if it lacks an end."""
    place = 0
    while (begin := rules.KEY_BEGINS.search(text, place)) is not None:
        end = rules.KEY_ENDS.search(text, begin.end())
        place = len(text) if end is None else end.end()
        yield begin.start(), begin.end(), place
