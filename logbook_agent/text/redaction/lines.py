"""Lines one after another: a private key and a value may go on in the next. Lines that hold nothing are passed by."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from typing import Protocol

from logbook_agent.text.escapes import without_escapes
from logbook_agent.text.redaction.finders import MARGIN, NAME, NAMES, PART
from logbook_agent.text.redaction.names import mark
from logbook_agent.text.redaction.shapes import KEY_BEGINS, KEY_ENDS


class OneLine(Protocol):
    """A redactor of one line."""

    def line(self, text: str) -> str: ...

    def kind_of(self, name: str) -> str | None: ...

    def next_line(self, low: str, at: int) -> int | None: ...

    def names_secret(self, line: str) -> bool: ...

    def has_bare(self, text: str) -> bool: ...


# Base64 at the end of a line, perhaps after a log prefix or in a quoted string; RFC 1421 headers; blank.
_KEY_BODY = re.compile(
    r"(?:.*[\s|>\"'])?[A-Za-z0-9+/]{16,}={0,2}(?:\\[nr])*[\"',+\\\s]*|\s*[\"']?[A-Za-z0-9+/]{1,64}={0,2}[\"',+\\\s]*"
    r"|(?:.*[\s|>\"'+])?(?:Proc-Type|DEK-Info|Version|Comment|Subject|Hash|Charset|Encryption|Key-Derivation|Argon2-\w+"
    r"|Public-Lines|Private-Lines):.*|\s*"
)
# The longest key seen has some 200 lines; a lost END must not swallow the rest of the output.
_MOST_KEY_LINES = 400
# The end of a line whose value stands in the next: `--token \`, `-e NAME \`; `"--token",`; `name: NAME`; `token: |`.
_AWAITS = re.compile(
    rf"(?:(?P<flag>(?<!\S)--?[A-Za-z][\w.-]{{0,63}}(?:[ =]\s{{0,7}}{NAME})?)\s{{1,40}}\\"
    rf"|(?P<listed>(?P<q>\\{{0,7}}[\"'])(?:--?)?{NAME}(?P=q)\s{{0,40}},)"
    rf"|(?P<scalar>(?<![A-Za-z_.-]){NAME}:)\s{{1,40}}[|>][+-]?"
    rf"|(?P<keyed>\b(?i:name|key|variable|env)[\"']?\s{{0,40}}[:=]\s{{0,40}}[\"']?{NAME}[\"']?\s{{0,40}},?))\s*$"
)
_SMALL = {ord(c): c.lower() for c in string.ascii_uppercase}


class Lines:
    """Redacts the lines of one text after another: a private key and a value may go on in the next."""

    def __init__(self, redactor: OneLine) -> None:
        self._redactor = redactor
        self._key_lines_left = 0
        # What stands before the key block in its first line, and so before each of its lines.
        self._key_margin = ""
        self._awaited = ""

    def lines(self, text: str) -> Iterator[str]:
        """The lines of a text without secrets; those that hold none come together."""
        redactor, low, at = self._redactor, _lower(text), 0
        has_bare = redactor.has_bare(text)
        while at <= len(text):
            start = at if has_bare or self.goes_on else redactor.next_line(low, at)
            if start is None:
                yield text[at:]
                return
            if start > at:
                yield text[at : start - 1]
            end = text.find("\n", start)
            end = len(text) if end < 0 else end
            line = text[start:end]
            is_passed = not (has_bare or self.goes_on or redactor.names_secret(line))
            if (done := line if is_passed else self.line(line)) is not None:
                yield done
            at = end + 1

    @property
    def goes_on(self) -> bool:
        """Whether the next line may hold a secret that nothing in it tells."""
        return self._key_lines_left > 0 or bool(self._awaited)

    def line(self, line: str) -> str | None:
        """The line (no newline in it) without secrets; None when all of it belonged to a key block."""
        begins = "BEGIN" in line or "PuTTY" in line
        bare = without_escapes(line) if self._key_lines_left or begins else line
        if self._key_lines_left:
            self._key_lines_left -= 1
            if (end := KEY_ENDS.search(bare)) is not None:
                self._key_lines_left = 0
                rest = _parts(bare[: end.end()]) + bare[end.end() :]
                return self.line(rest) if rest.strip(string.whitespace) else None
            if _KEY_BODY.fullmatch(bare.removeprefix(self._key_margin)) is not None:
                return _parts(bare) or None
            self._key_lines_left = 0
        begin = _open_key(bare) if begins else None
        if begin is not None:
            self._key_lines_left, self._key_margin = _MOST_KEY_LINES, bare[:begin]
            line = bare[:begin] + mark("private-key") + _parts(bare[begin:])
        return self._after(line)

    def _after(self, line: str) -> str:
        """The line, read as what goes on behind the line before it."""
        awaited, self._awaited = self._awaited, self._awaits(line)
        if awaited:
            margin = MARGIN.match(line)
            at = margin.end() if margin is not None else 0
            done = self._redactor.line(awaited + line[at:])
            if done.startswith(awaited):
                return self._redactor.line(line[:at] + done[len(awaited) :])
        return self._redactor.line(line)

    def _awaits(self, line: str) -> str:
        """What to put before the next line, so that it reads as the value of the name at the end of this one."""
        end = " ".join(line.rsplit(maxsplit=3)[-3:])
        if not any(map(self._redactor.kind_of, NAMES.findall(end))) or (m := _AWAITS.search(end)) is None:
            return ""
        return f"{m['flag'] or m['listed'] or m['scalar'] or m['keyed']} "


def _parts(text: str) -> str:
    """What is left of a text that goes: the words of a command stay as many as they are."""
    return PART * text.count(PART)


def _lower(text: str) -> str:
    """The text in small letters, each in its place."""
    return text.lower() if text.isascii() else text.translate(_SMALL)


def _open_key(text: str) -> int | None:
    """Where a key block begins that has no end in this text."""
    last_end = max((m.end() for m in KEY_ENDS.finditer(text)), default=0)
    begin = KEY_BEGINS.search(text, last_end)
    return None if begin is None else begin.start()
