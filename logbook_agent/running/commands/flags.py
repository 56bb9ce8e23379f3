"""Which flags a command line sets: a RESULT key that matches one of them is config."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from logbook_agent.running.commands.script import Simple, Word
from logbook_agent.running.commands.unwrap import simple_commands_of

_LONG = re.compile(r"--(?P<name>[A-Za-z][\w.-]*)(?:=(?P<value>.*))?", re.DOTALL)
_PAIR = re.compile(r"(?P<name>[A-Za-z_][\w.-]*)=(?P<value>.*)", re.DOTALL)
_NEGATIVE = re.compile(r"-\.?\d")
# `--topk-list 1,2,4` and `--null-route-sweep` vary `topk` and `null_route`, one value per row.
SWEEPING = ("_list", "_sweep", "_values")


def normal_name(name: str) -> str:
    """A flag or key as both are compared: no leading dashes, `-` read as `_`."""
    return name.lstrip("-").replace("-", "_")


def flags(argv: Sequence[str]) -> dict[str, str | None]:
    """Long flags and `key=value` words of the command(s) that `argv` runs in the end.

    The value is None where it is not one known text: a switch, a shell variable, or several values.
    `--no-x` names `x` as well, and a sweeping flag (`--topk-list`) the key that it varies.
    """
    found: dict[str, str | None] = {}
    for simple in simple_commands_of(argv):
        for name, value in _of_simple(simple):
            found[name] = value if found.get(name, value) == value else None
    return found


def _of_simple(words: Simple) -> Iterator[tuple[str, str | None]]:
    for i, word in enumerate(words[1:], start=1):
        long = _LONG.fullmatch(word.text)
        if long is not None:
            name = normal_name(long["name"])
            if long["value"] is not None:
                yield name, None if word.expanded else long["value"]
            else:
                yield name, _next_value(words, i)
            yield from ((other, None) for other in _implied(name))
            continue
        pair = _PAIR.fullmatch(word.text)
        if pair is not None:
            yield normal_name(pair["name"]), None if word.expanded else pair["value"]


def _next_value(words: Simple, i: int) -> str | None:
    following: Word | None = words[i + 1] if i + 1 < len(words) else None
    if following is None or following.expanded:
        return None
    if following.text.startswith("-") and not _NEGATIVE.match(following.text):
        return None
    return following.text


def _implied(name: str) -> Iterator[str]:
    if name.startswith("no_"):
        yield name.removeprefix("no_")
    for suffix in SWEEPING:
        if name.endswith(suffix):
            yield name.removesuffix(suffix)
