"""Complete lines out of a byte stream, which of them report a result, and what stands on them. Any text is accepted.

Plain forms give declared metrics as programs print them: `loss:   0.9`, `step: 3, loss: 0.5`; and digests of an output:
`checksum=3f2a rows=9`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from logbook_agent.model.units import TIMES
from logbook_agent.model.values import finite, is_digest_name, is_not_finite, parse_scalar
from logbook_agent.running.results.reporting_lines import ResultLine, bodies
from logbook_agent.text.phrases import without_escapes

MAX_LINE_BYTES = 16 * 1024 * 1024

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
        self._max, self._pending = max_line_bytes, b""

    def feed(self, data: bytes) -> list[str]:
        """The lines that the data completes."""
        data = data.replace(b"\r", b"\n")
        if len(self._pending) > self._max and b"\n" not in data:
            return []
        *whole, pending = (self._pending + data).split(b"\n")
        # Of one that is too long, no more is held than shows that.
        self._pending = pending[: self._max + 1]
        return self._decoded(whole)

    def finish(self) -> list[str]:
        """The last line, when it has no end."""
        last, self._pending = self._pending, b""
        return self._decoded([last])

    def _decoded(self, lines: list[bytes]) -> list[str]:
        kept = [line for line in lines if len(line) <= self._max]
        self.dropped += len(lines) - len(kept)
        return [line for line in without_escapes(b"\n".join(kept).decode("utf-8", "replace")).split("\n") if line]


class ResultWords(NamedTuple):
    """The words `key=value` of a line, the rank that printed them, and the unit of a metric that stands alone."""

    pairs: dict[str, str]
    rank: str | None = None
    unit: str | None = None


def measured_number(text: str) -> tuple[float | None, str | None]:
    """The number that a text states, and its unit where that is attached: `0.9`, `np.float64(0.9)`, `12.5ms`."""
    number = finite(parse_scalar(text))
    found = _NUMBER.fullmatch(text) if number is None and len(text) < _LONGEST else None
    if found is None or (found["unit"] and found["unit"] not in {*TIMES, "%"}):
        return number, None
    return finite(parse_scalar(found["typed"] or found["number"])), found["unit"] or None


def split_pairs(body: str) -> tuple[dict[str, str], list[str]]:
    """The `key=value` pairs of a RESULT line, values unquoted, and what is wrong with the line.

    The pairs that can be read count even where others cannot; of a repeated key, the first does.
    """
    problems: list[str] = []
    words = body.split()
    if any(c in body for c in "'\"\\"):
        try:
            words = shlex.split(body)
        except ValueError as error:
            problems.append(f"{str(error).lower()}; split at blanks")
    pairs: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            problems.append(f"{cut(word, 40)!r} is not key=value")
        elif pairs.setdefault(key, value) != value:
            problems.append(f"{cut(key, 40)!r} is given twice")
    if not pairs and not problems:
        problems.append("no key=value")
    return pairs, problems


def words_of(found: ResultLine) -> tuple[dict[str, str], dict[str, str | None], list[str]]:
    """The words of a RESULT or METRIC line; the units of the latter, `name=value [unit]`, and of what follows in that
    form; and what is wrong with it."""
    if found.kind == "RESULT":
        pairs, wrong = split_pairs(found.body)
        return pairs, {}, wrong
    values: dict[str, str] = {}
    units: dict[str, str | None] = {}
    at = 0
    while match := _VALUE.match(found.body, at):
        values.setdefault(match[1], match[2])
        units.setdefault(match[1], match[3].strip() or None)
        at = match.end()
    if not values or at < len(found.body):
        return {}, {}, ["expected name=value [unit]"]
    return values, units, []


def cut(text: str, limit: int) -> str:
    """At most `limit` characters of one line, `…` when cut; control characters are replaced."""
    head = text[: limit + 1].strip()
    if not head.isprintable():
        head = "".join(c if c.isprintable() else "�" for c in head)
    return head if len(head) <= limit else head[: limit - 1] + "…"


# The label that numbers the ranks of a row's samples. It tells no cases apart.
RANK = "rank"


def of_rank(rank: str | None) -> dict[str, str]:
    """The label of a rank; none where no rank is known."""
    return {} if rank is None else {RANK: rank}


# -- plain forms -----------------------------------------------------------------------------------


# A longer line is none of these forms.
_LONGEST_PLAIN = 1_000
_IS = r"[ \t]{0,100}[:=][ \t]{0,100}"
_PLAIN_VALUE = re.compile(rf"({TYPED}|\S+)(?:[ \t]+([A-Za-zµ°%][^\s:=,;|]{{0,19}}))?\s*")
_STEP = r"(?i:step|epoch)"
_PAIR = rf"(?:[^\s:=,;|]{{1,100}}{_IS}[^\s:=,;|]{{1,60}}|{_STEP}[ ]\d+(?:/\d+)?:?)"
_PAIRS = re.compile(rf"{_PAIR}(?:[ \t,;|]{{1,20}}(?:-[ \t]{{1,20}})?{_PAIR}){{1,50}}[\s,;]*")
_NAMED = re.compile(rf"(?:({_STEP})[ ]|([^\s:=,;|]+){_IS})([^\s:=,;|]+)")
_DIGEST = re.compile(rf"([A-Za-z_][\w./-]{{0,60}}){_IS}([\w+/=:-]{{1,200}})\s*")
_GATED = re.compile(rf"([A-Za-z_][\w./-]{{0,60}}){_IS}(\S{{1,200}})(?:[ \t]+[A-Za-zµ°%]\S{{0,19}})?\s*")
_WORDS = re.compile(r"(?:[A-Za-z_][^\s=]{0,60}=[^\s=]{1,200}\s+){1,50}[A-Za-z_][^\s=]{0,60}=[^\s=]{1,200}\s*")
_OF_DIGEST = ("checksum", "digest", "hash", "sha1", "sha2", "sha5", "md5", "crc")


def digests_of(line: str, gates: Collection[str] = ()) -> dict[str, str]:
    """The digests of the output that a whole line gives, after a prefix: `checksum: 3f2a`, or `checksum=3f2a rows=9`,
    of whose words only the digests are taken; and what `gates` ask for: `ok=1`."""
    lower = line.lower()
    is_known = any(word in lower for word in _OF_DIGEST) or any(name in line for name in gates)
    if len(line) > _LONGEST_PLAIN or not is_known:
        return {}
    for at, _ in bodies(line):
        words = line[at:].split() if _WORDS.fullmatch(line, at) else [line[at:]]
        words = [word.rstrip(",;") for word in words]
        found = [match for word in words if (match := _DIGEST.fullmatch(word)) is not None and is_digest_name(match[1])]
        found += [match for word in words if (match := _GATED.fullmatch(word)) is not None and match[1] in gates]
        if digests := {match[1]: match[2] for match in found}:
            return digests
    return {}


class PlainForms:
    """The plain forms of the metrics that a logbook declares; nothing else is one. `steps` number points."""

    def __init__(self, metrics: Collection[str], steps: Sequence[str], is_config: Callable[[str], bool]) -> None:
        self._metrics, self._steps, self._is_config = metrics, steps, is_config
        names = "|".join(map(re.escape, sorted(metrics, key=len, reverse=True)))
        self._name = re.compile(f"({names}){_IS}")

    def read(self, line: str) -> ResultWords | None:
        """The metric that a whole line gives, after a prefix; of a line with a step its steps, metrics and config."""
        if len(line) > _LONGEST_PLAIN or not any(name in line for name in self._metrics) or not self._name.search(line):
            return None
        lower = line.lower()
        is_stepped = any(key in lower for key in self._steps)
        for at, rank in bodies(line):
            name = self._name.match(line, at)
            value = _PLAIN_VALUE.fullmatch(line, name.end()) if name is not None else None
            if name is not None and value is not None:
                # A word is prose: `loss: see below`.
                is_prose = not _is_value(value[1]) and re.search(r"\d", value[1]) is None
                return None if is_prose else ResultWords({name[1]: value[1]}, rank, value[2])
            if is_stepped and _PAIRS.fullmatch(line, at):
                pairs = self._of_step(_NAMED.findall(line, at))
                return ResultWords(pairs, rank) if pairs else None
        return None

    def _of_step(self, named: Sequence[tuple[str, str, str]]) -> dict[str, str]:
        """The steps, metrics and config of a line; none where it has no step or no metric."""
        pairs: dict[str, str] = {}
        for word, other, text in named:
            name = other or word
            key = name if name in self._metrics else name.lower()
            if key in self._steps:
                pairs.setdefault(key, text.partition("/")[0])
            elif key in self._metrics and _is_value(text):
                pairs.setdefault(key, text)
            elif self._is_config(name):
                pairs.setdefault(name, text)
        return pairs if pairs.keys() & set(self._metrics) and pairs.keys() & set(self._steps) else {}


def _is_value(text: str) -> bool:
    return is_not_finite(text) or measured_number(text)[0] is not None
