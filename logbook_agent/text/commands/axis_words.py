"""The place of an axis in a command: `{axis}`, or the value of the flag of that name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from logbook_agent.model.values import canonical
from logbook_agent.text.commands.flags import is_value, normal_name

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
