"""Values of an axis: as a list in one word of a command, `2,4,8` and `"16,4","8"`; in the order that readers expect, as
declared, numbers by size, words by their letters; and the place of a value in a command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence

from logbook_agent.model.values import canonical
from logbook_agent.text.commands.flags import is_value, normal_name

# As in CSV: between quotation marks a doubled one is one of them.
_VALUE = re.compile(r'\s*+(?:"(?P<quoted>(?:[^"]|"")*+)"\s*+|(?!")(?P<plain>[^,]*+))(?P<end>,|\Z)')


def parse_list(text: str) -> tuple[str, ...]:
    """The values, without the space around them.

    Raises:
        ValueError: a quotation mark at the start of a value is not closed, or text follows the closing one.
    """
    values: list[str] = []
    at = 0
    while True:
        found = _VALUE.match(text, at)
        if found is None:
            raise ValueError(f"a value that begins with a quotation mark ends with one: {text[at:].lstrip()}")
        quoted = found["quoted"]
        values.append(found["plain"].strip() if quoted is None else quoted.replace('""', '"'))
        if not found["end"]:
            return tuple(values)
        at = found.end()


def list_text(values: Sequence[str]) -> str:
    """The text that `parse_list` reads as these values."""
    return ",".join(map(_value, values))


def _value(value: str) -> str:
    if "," in value or value.startswith('"') or value != value.strip():
        return '"' + value.replace('"', '""') + '"'
    return value


def axis_option(name: str, values: Sequence[str]) -> str:
    """`--axis 'tile="8,128,128",8'`, as it is pasted into a shell."""
    return f"--axis {shlex.quote(f'{name}={list_text(values)}')}"


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


ANY = "{axis}"
_PAIR = re.compile(r"[A-Za-z_]\w*=")


def has_place(words: Sequence[str], axis: str) -> bool:
    """Whether a command says itself where the value stands."""
    return any(ANY in word or f"{{{axis}}}" in word for word in words)


def flag_places(words: Sequence[str], axis: str) -> list[tuple[int, str]]:
    """The words that hold a value of the axis's flag: the position of each, and the word with `{axis}` in place of the
    value. Assignments before the program set variables, and are none."""
    wanted, found = normal_name(axis), []
    program = next((at for at, word in enumerate(words) if not _PAIR.match(word)), 0)
    for at, word in enumerate(words):
        name, equals, _ = word.partition("=")
        if at <= program or normal_name(name) != wanted:
            continue
        if equals:
            found.append((at, f"{name}={ANY}"))
        elif name.startswith("-") and at + 1 < len(words) and is_value(words[at + 1]):
            found.append((at + 1, ANY))
    return found


def with_place(words: Sequence[str], axis: str, value: str | None) -> tuple[str, ...] | None:
    """The words of a command that was run with a value of the axis (as `canonical` writes it; None: with none), with
    `{axis}` in its place: that of its flag, else the one word, or part behind `=`, that is the value. None where it has
    no one place."""
    if has_place(words, axis):
        return tuple(words)
    found = flag_places(words, axis)
    if not found and value is not None:
        ends = [word.rpartition("=")[2] for word in words]
        found = [
            (at, f"{words[at].removesuffix(end)}{ANY}")
            for at, end in enumerate(ends)
            if at and end and canonical(end) == value
        ]
    if len(found) != 1:
        return None
    at, word = found[0]
    return (*words[:at], word, *words[at + 1 :])
