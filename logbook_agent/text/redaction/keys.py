"""Finds keys: a service's prefix (the table KEYS of `shapes`) followed by random characters.

A key without a known prefix is found, too, if a word precedes its random characters and these are many and mixed.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Any

from logbook_agent.text.redaction.names import mark
from logbook_agent.text.redaction.rules import Edit, compile_linear
from logbook_agent.text.redaction.shapes import KEYS, SHORT_KEYS

_LETTER = "[A-Za-z0-9_+/.~-]"
_LEAST, _LEAST_SHORT, _LEAST_UNKNOWN = 12, 20, 32
# What may stand before a key: no letter, or one of an escape.
_BOUNDARY = r"(?:^|[^A-Za-z0-9]|\[[0-9;]{0,8}[A-Za-z]|\\[abefnrtv]|%[0-9A-F]{2}|\\u00[0-9a-f]{2})"
# Before what base64 and names may hold by chance: no sign of theirs either.
_START = r"""(?:^|[\s"'`=:,;|(<>{@])"""
_UNKNOWN = "[A-Za-z][A-Za-z0-9]{1,15}(?:[_-][a-z0-9]{1,12}){0,3}[_-]"
# resnet50, GroupedMatmul, 128x128: pieces of names, not of keys.
_WORD = r"(?:[a-z]*+(?:[A-Z]++[a-z]{2,}+)*+[A-Z]*+[0-9]{0,4}+|[0-9]++(?:x[0-9]++)++)"
WORDS = re.compile(rf"{_WORD}(?:[_+/.~-]++{_WORD})*+")
# The whole key; a sentence may end behind it.
_REST = re.compile(rf"{_LETTER}*[A-Za-z0-9_-](?:={{1,2}}(?![A-Za-z0-9]))?".encode())
_PIECE = re.compile(r"[A-Za-z0-9]+")
# Hexadecimal from its first letter on: EAA1AC5F...
_DIGEST = re.compile(r"[0-9a-f]+|[0-9A-F]+")
# Words in the prefix that say what it is.
_SAYS_SO = re.compile(r"(?:^|[_-])(?:sk|pk|pat|sat|api|apikey|key|token|secret|live|prod|oauth)[_-]")
# What a key stands in.
LETTERS = re.compile(rb"[A-Za-z0-9_+/.~-]{15,}")

_IDS = {prefix: id_ for table in (SHORT_KEYS, KEYS) for id_, prefixes in table.items() for prefix in prefixes.split()}
PREFIXES = tuple(sorted(_IDS, key=len, reverse=True))


def _any(prefixes: Iterable[str]) -> str:
    return "|".join(re.escape(prefix) for prefix in prefixes)


_SHORT = {prefix for prefixes in SHORT_KEYS.values() for prefix in prefixes.split()}
_CHANCE = {prefix for prefix in _SHORT if len(prefix) < 4 and prefix.isalnum()}
_FORMS = (
    f"({_any(p for p in PREFIXES if p not in _SHORT)})",
    f"{_BOUNDARY}({_any(p for p in PREFIXES if p in _SHORT - _CHANCE)})|{_START}({_any(sorted(_CHANCE))})",
    f"{_START}({_UNKNOWN})",
)
# Every line with a key in it, and some others: for a large block of text.
GATE = f"{_FORMS[0]}{_LETTER}{{4}}|(?:{_FORMS[1]}){_LETTER}{{10}}|[_-][A-Za-z0-9]{{{_LEAST_SHORT}}}"


@functools.cache
def _pattern(form: int) -> Any:
    """A pattern for a prefix of this form and as many of the letters behind it as `_is_key` needs."""
    letters = f"[A-Za-z0-9]{{{_LEAST_SHORT},64}}" if form == 2 else f"{_LETTER}{{{_LEAST},64}}"
    return compile_linear(f"(?:{_FORMS[form]}){letters}")


def find_keys(text: str, low: str) -> list[Edit]:
    """The keys in one line. Known prefixes win over others that overlap them."""
    data = text.encode("utf-8", "surrogatepass")
    found: list[tuple[int, int, str]] = []
    for form in range(len(_FORMS)) if LETTERS.search(data) is not None else ():
        for start, end, kind in _found(form, data):
            if all(end <= a or b <= start for a, b, _ in found):
                found.append((start, end, kind))

    def at(place: int) -> int:
        return len(data[:place].decode("utf-8", "surrogatepass"))

    return [Edit(at(start), at(start), at(end), mark(kind), kind) for start, end, kind in sorted(found)]


def _found(form: int, data: bytes) -> Iterator[tuple[int, int, str]]:
    search, at = _pattern(form).search, 0
    while (m := search(data, at)) is not None:
        start, behind = m.span(m.lastindex)
        prefix = data[start:behind].decode()
        at = max(behind, at + 1)
        if _is_key(form, prefix, data[behind : m.end()].decode()):
            rest = _REST.match(data, behind)
            at = m.end() if rest is None else rest.end()
            yield start, at, _IDS.get(prefix, "api-key")


def _is_key(form: int, prefix: str, letters: str) -> bool:
    """Whether the letters behind a prefix of this form (0 known, 1 short, 2 unknown) look random."""
    if form == 2:
        least = _LEAST_SHORT if _SAYS_SO.search(prefix) else _LEAST_UNKNOWN
        return len(letters) >= least and not prefix.startswith("sha") and _is_mixed(letters)
    pieces = _PIECE.findall(letters)
    if form == 0:
        return any(len(piece) >= _LEAST_SHORT for piece in pieces) or WORDS.fullmatch(letters) is None
    if _DIGEST.fullmatch(prefix + letters) is not None:
        return False
    least = _LEAST_SHORT if letters == letters.lower() else _LEAST
    return sum(len(p) for p in pieces if len(p) >= 6 and WORDS.fullmatch(p) is None) >= least


def _is_mixed(letters: str) -> bool:
    """Whether small letters, capitals and digits alternate as often as in random text; in names they form groups."""
    kinds = ["d" if c.isdigit() else "u" if c.isupper() else "l" for c in letters]
    turns = sum(a != b for a, b in itertools.pairwise(kinds))
    return len(set(kinds)) == 3 and turns >= 0.45 * (len(letters) - 1) and len(_NAME_PART.findall(letters)) < 2


_NAME_PART = re.compile("[a-z]{5,}")
