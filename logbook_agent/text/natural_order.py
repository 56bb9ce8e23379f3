"""The order in which readers expect values of an axis: as declared, numbers by size, words by their letters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

Key = tuple[tuple[int, float, str], ...]
_SIZES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
# A number within a text, with the letter of its size where no other letter follows: `64k`, `1.5M`, `128Ki`.
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|\d+(?:\.\d+)?")
_SIZE = re.compile(r"([kKmMgGtT])(i?[bB]?)(?![A-Za-z])")
_BINARY = 1.024


def natural_key(text: str) -> Key:
    """A sort key by which `64k` comes before `128k`, `v5e-8` before `v5e-16`, and `0.5` before `1e3`."""
    parts: list[tuple[int, float, str]] = []
    at = 0
    while at < len(text):
        number = _NUMBER.search(text, at)
        start = number.start() if number else len(text)
        if start > at:
            parts.append((1, 0.0, text[at:start].casefold()))
        if number is None:
            break
        at = number.end()
        size = _SIZE.match(text, at)
        letter, unit = (size[1].lower(), size[2]) if size else ("", "")
        times = _SIZES[letter] * (_BINARY ** ("kmgt".index(letter) + 1) if unit.startswith("i") else 1.0)
        parts.append((0, float(number[0]) * times, ""))
        at = size.end() if size else at
    return tuple(parts)


def in_order(values: Iterable[str], declared: Sequence[str] = ()) -> list[str]:
    """Each value once: those of `declared` in its order, then the others in natural order."""
    found = dict.fromkeys(values)
    first = [value for value in dict.fromkeys(declared) if value in found]
    return [*first, *sorted((value for value in found if value not in first), key=natural_key)]
