"""Complete lines out of a byte stream, which of them report a result, and what stands on them. Any text is accepted."""

from __future__ import annotations

import re
import shlex
from typing import Literal, NamedTuple

from logbook_agent.model.units import TIMES
from logbook_agent.model.values import finite, parse_scalar
from logbook_agent.running.results.line_prefix import bodies
from logbook_agent.text.escapes import without_escapes

MAX_LINE_BYTES = 16 * 1024 * 1024

Kind = Literal["RESULT", "METRIC", "RESULT_JSON", "ARTIFACT"]
# What Ray adds to the end of a line that several of its workers printed.
_REPEATED = re.compile(r"\s*\[repeated \d+x across cluster\][^\n]*$")
_WORD = re.compile(r"(RESULT_JSON|RESULT|METRIC|ARTIFACT)(?::?(?=\s|$)|:(?=\{))")
_NO_WORD = (None, 0, None)
# A value with its type around it, as Python shows it: `np.float64(0.9)`, `tensor(0.9, device='cuda:0')`.
_TYPE = r"(?:\w{1,20}\.)?(?:b?float\d*|u?int\d*|tensor|Tensor|Array)"
TYPED = rf"{_TYPE}\([^()\[\]]{{1,200}}\)"
_NUMBER = re.compile(
    rf"{_TYPE}\(\s*(?P<typed>[^,\s)]+)[^)]*\)|(?P<number>[-+]?[\d.]+(?:[eE][-+]?\d+)?)(?P<unit>[a-z%]*)[,;]?"
)
_VALUE = re.compile(rf"([^\s=]+)=({TYPED}|\S+)((?:\s+[^\s=]+)*)(?:\s+|$)")
# What a value that is refused should look like.
PLAIN_NUMBER = "print a plain number, such as 181873 or 0.9"
# Of one row; what has more is no result, and every reader would pay for it.
MAX_KEYS = 1_000
# A text beyond it is no number.
_LONGEST = 300


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


class ResultLine(NamedTuple):
    """The kind and body of a line that reports a result, and the rank that its prefix names. `is_alike`: the prefix may
    stand before many lines as it is, so it holds no time."""

    kind: Kind
    body: str
    rank: str | None = None
    is_alike: bool = True


def split_line(line: str) -> ResultLine | None:
    """What a line reports that starts, after any prefix of a rank, a job or a logger, with RESULT, METRIC, RESULT_JSON
    or ARTIFACT as a whole word (a colon after it is allowed); None for every other line."""
    if "RESULT" not in line and "METRIC" not in line and "ARTIFACT" not in line:
        return None
    if "\x1b" in line[:200]:
        line = without_escapes(line)
    found, at, rank = next(((word, at, rank) for at, rank in bodies(line) if (word := _WORD.match(line, at))), _NO_WORD)
    if found is None:
        return None
    body = line[found.end() :].strip()
    if not body.isascii():
        body = body.encode("utf-8", "replace").decode()
    if body.endswith("across cluster]") or "x across cluster]" in body[-200:]:
        body = _REPEATED.sub("", body)
    return ResultLine(found[1], body, rank, ":" not in line[:at].rstrip(": "))  # type: ignore[arg-type]


def measured_number(text: str) -> tuple[float | None, str | None]:
    """The number that a text states, and its unit where that is attached: `0.9`, `np.float64(0.9)`, `12.5ms`."""
    number = finite(parse_scalar(text))
    found = _NUMBER.fullmatch(text) if number is None and len(text) < _LONGEST else None
    if found is None or (found["unit"] and found["unit"] not in {*TIMES, "%"}):
        return number, None
    return finite(parse_scalar(found["typed"] or found["number"])), found["unit"] or None


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


def split_metric(body: str) -> list[tuple[str, str, str | None]]:
    """Name, value and unit of `name=value [unit]`, and of what follows in that form; none where it is another."""
    values, at = [], 0
    while found := _VALUE.match(body, at):
        values.append((found[1], found[2], found[3].strip() or None))
        at = found.end()
    return values if at == len(body) else []


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
