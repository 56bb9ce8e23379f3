"""Complete lines out of a byte stream, which of them report a result, and what stands on them. Any text is accepted."""

from __future__ import annotations

import re
import shlex
from typing import Literal

from logbook_agent.text.escapes import without_escapes

MAX_LINE_BYTES = 16 * 1024 * 1024

Kind = Literal["RESULT", "METRIC", "RESULT_JSON", "ARTIFACT"]
# `(pid=123, ip=10.1.2.3) ` or `(Worker pid=123) `, as Ray puts it before the lines of its workers,
# and what it adds to the end of a line that several of them printed.
_PREFIX = re.compile(r"\s*(?:\((?:[^()\s]{1,200} )?pid=\d{1,20}(?:, ip=[^()\s]{1,100})?\)\s*)?")
_REPEATED = re.compile(r"\s*\[repeated \d+x across cluster\][^\n]*$")
_WORD = re.compile(r"(RESULT_JSON|RESULT|METRIC|ARTIFACT)(?::?(?=\s|$)|:(?=\{))")
_UNIT_AFTER = re.compile(r"(?P<name>[^\s=]+)=(?P<value>\S+)(?:\s+(?P<unit>\S.*))?")
# Of one row; what has more is no result, and every reader would pay for it.
MAX_KEYS = 1_000


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
        return [line for line in without_escapes(block.decode("utf-8", "replace")).split("\n") if line]


def split_line(line: str) -> tuple[Kind, str] | None:
    """The kind and body of a line that starts, after any worker prefix, with RESULT, METRIC, RESULT_JSON or
    ARTIFACT as a whole word (a colon after it is allowed); None for every other line."""
    if "RESULT" not in line and "METRIC" not in line and "ARTIFACT" not in line:
        return None
    if "\x1b" in line[:200]:
        line = without_escapes(line)
    prefix = _PREFIX.match(line)
    start = prefix.end() if prefix else 0
    word = _WORD.match(line, start)
    if word is None:
        return None
    body = line[word.end() :].strip()
    if not body.isascii():
        body = body.encode("utf-8", "replace").decode()
    if body.endswith("across cluster]") or "x across cluster]" in body[-200:]:
        body = _REPEATED.sub("", body)
    return word[1], body  # type: ignore[return-value]


def split_pairs(body: str) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """The `key=value` pairs of a RESULT line, values unquoted, and what is wrong with the line.

    The pairs that can be read count even where others cannot; of a repeated key, the first does. What is
    wrong is a word of the line, or nothing, and what is wrong with it.
    """
    problems: list[tuple[str, str]] = []
    words = body.split()
    if any(c in body for c in "'\"\\"):
        try:
            words = shlex.split(body)
        except ValueError as error:
            problems.append(("", f"{str(error).lower()}; split at blanks"))
    pairs: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            problems.append((word, "is not key=value"))
        elif pairs.setdefault(key, value) != value:
            problems.append((key, "is given twice"))
    if not pairs and not problems:
        problems.append(("", "no key=value"))
    return pairs, problems


def split_metric(body: str) -> tuple[str, str, str | None] | None:
    """Name, value and unit of `name=value [unit]`; None when it is not of that form."""
    match = _UNIT_AFTER.fullmatch(body)
    return None if match is None else (match["name"], match["value"], match["unit"])


def split_point(body: str) -> tuple[str | None, str | None, dict[str, str]]:
    """Name, unit and pairs of `name=value [unit] step=600 ...`, the name among the pairs; no name, where it is not of
    that form."""
    words = body.split()
    first = next((i for i, word in enumerate(words) if i and "=" in word), len(words))
    pairs = [word.partition("=") for word in (words[:1] + words[first:])]
    if not words or first == len(words) or not all(key and equals for key, equals, _ in pairs):
        return None, None, {}
    found: dict[str, str] = {}
    for key, _, value in pairs:
        found.setdefault(key, value)
    return pairs[0][0], " ".join(words[1:first]) or None, found


def cut(text: str, limit: int) -> str:
    """At most `limit` characters of one line, `…` when cut; control characters are replaced."""
    head = text[: limit + 1].strip()
    if not head.isprintable():
        head = "".join(c if c.isprintable() else "�" for c in head)
    return head if len(head) <= limit else head[: limit - 1] + "…"
