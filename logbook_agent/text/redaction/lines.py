"""What one line of a text tells about the next: a name whose value follows there, a private key that goes on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from logbook_agent.text.redaction import rules
from logbook_agent.text.redaction.named import MARGIN, WORD_NAME
from logbook_agent.text.redaction.names import mark

# The end of a line whose value stands in the next: `--token \`, `-e NAME \`; `"--token",`; `name: NAME`; `token: |`.
_CONTINUED = re.compile(
    rf"(?<!\S)(?P<tail>--?[A-Za-z][\w.-]{{0,63}}(?:[ =]\s{{0,7}}{WORD_NAME})?)\s{{1,40}}\\\s*$", re.ASCII
)
_LIST_GOES_ON = re.compile(rf"(?P<tail>(?P<open>\\{{0,7}}[\"'])(?:--?)?{WORD_NAME}(?P=open)\s{{0,40}},)\s*$", re.ASCII)
_KEY_GOES_ON = re.compile(
    rf"(?i:\b(?:name|key|variable|env))[\"']?\s{{0,40}}[:=]\s{{0,40}}[\"']?(?P<name>{WORD_NAME})[\"']?\s{{0,40}},?\s*$",
    re.ASCII,
)
_BLOCK_SCALAR = re.compile(rf"(?P<tail>(?<![A-Za-z_.-]){WORD_NAME}:)\s{{1,40}}[|>][+-]?\s*$", re.ASCII)
# By the last sign of the line.
_GOES_ON = {"\\": _CONTINUED, ",": _LIST_GOES_ON, **dict.fromkeys("|>+-", _BLOCK_SCALAR)}
_KEY_WORD = re.compile(r"(?i:name|key|variable|env)[\"']?\s{0,40}[:=]", re.ASCII)
_LONGEST_END = 300


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


def awaited_after(line: str) -> str:
    """What has to stand before the next line so that it is read as the value of this one's name; else nothing."""
    end = line[-_LONGEST_END:].rstrip()
    if _KEY_WORD.search(end) is not None and (m := _KEY_GOES_ON.search(end)) is not None:
        return f"name: {m['name']}, "
    form = _GOES_ON.get(end[-1:])
    m = form.search(end) if form is not None else None
    return "" if m is None else f"{m['tail']} "
