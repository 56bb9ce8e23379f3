"""Which flags a command line sets, and what it says beyond those that config explains.

A RESULT key that matches a flag is config.
"""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from logbook_agent.text.commands.script import Simple, Word, simple_commands_of

_LONG = re.compile(r"(?P<flag>--[A-Za-z][\w.-]*)(?:=(?P<value>.*))?", re.DOTALL)
_PAIR = re.compile(r"(?P<flag>[A-Za-z_][\w.-]*)=(?P<value>.*)", re.DOTALL)
_NEGATIVE = re.compile(r"-\.?\d")
# By which a command reports what it measured (see `results.lines`).
_REPORT = re.compile(r"\b(?:RESULT|METRIC)$")
# `--topk-list 1,2,4` and `--null-route-sweep` vary `topk` and `null_route`, one value per row.
SWEEPING = ("_list", "_sweep", "_values")


def normal_name(name: str) -> str:
    """A flag or key as both are compared: no leading dashes, `-` read as `_`."""
    return name.lstrip("-").replace("-", "_")


def same_flag(flag: str) -> str:
    """One form for the ways to write a flag: `block` of `block=256` is `--block`."""
    return f"--{normal_name(flag)}"


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
            name = normal_name(long["flag"])
            if long["value"] is not None:
                yield name, None if word.expanded else long["value"]
            else:
                yield name, _next_value(words, i)
            yield from ((other, None) for other in _implied(name))
            continue
        pair = _PAIR.fullmatch(word.text)
        if pair is not None:
            yield normal_name(pair["flag"]), None if word.expanded else pair["value"]


def _next_value(words: Simple, i: int) -> str | None:
    following: Word | None = words[i + 1] if i + 1 < len(words) else None
    return following.text if following is not None and not following.expanded and is_value(following.text) else None


def _implied(name: str) -> Iterator[str]:
    if name.startswith("no_"):
        yield name.removeprefix("no_")
    for suffix in SWEEPING:
        if name.endswith(suffix):
            yield name.removesuffix(suffix)


# -- what config does not explain ------------------------------------------------------------------


class Parts(Struct, frozen=True, kw_only=True):
    """A command line without the order of its flags: values by flag as typed (`--topk`, `K` of `K=V`), other words.

    A switch has no value: the empty text stands for it.
    """

    flags: tuple[tuple[str, tuple[str, ...]], ...]
    words: tuple[str, ...]

    @property
    def settings(self) -> list[tuple[str, tuple[str, ...]]]:
        """The flags however they are written."""
        return sorted((same_flag(flag), values) for flag, values in self.flags)


@functools.lru_cache(maxsize=4096)
def parts(
    argv: tuple[str, ...],
    keys: frozenset[str],
    switches: frozenset[str] = frozenset(),
    results: frozenset[str] = frozenset(),
) -> Parts:
    """The parts that config does not explain.

    A flag is explained when one of `keys` (with `_` for `-`) is its name, behind its `no_`, or what it sweeps.
    `switches` are the keys that hold true or false: the word behind such a flag is a word of its own. `results` are
    what the rows measured: behind a word that reports it (`echo RESULT tflops=1.5`) such a pair is the number itself.
    Scripts (`bash -lc '...'`) are looked into.
    """
    found: dict[str, list[str]] = {}
    words: list[str] = []
    rest = list(_words(argv))
    at = 0
    reports = False
    while at < len(rest):
        word = rest[at]
        at += 1
        long = _LONG.fullmatch(word)
        match = long or _PAIR.fullmatch(word)
        if match is None:
            reports = reports or _REPORT.search(word) is not None
            words.append(word)
            continue
        name, value = normal_name(match["flag"]), match["value"]
        is_switch = name in switches or name.removeprefix("no_") in switches
        if value is None and not is_switch and at < len(rest) and is_value(rest[at]):
            value = rest[at]
            at += 1
        if not _explained(name, keys) and not (reports and long is None and name in results):
            found.setdefault(match["flag"], []).append(value or "")
    return Parts(flags=tuple((flag, tuple(found[flag])) for flag in sorted(found)), words=tuple(words))


def _words(argv: Sequence[str]) -> Iterator[str]:
    """The words of a command; those of a script in place of it."""
    for word in argv:
        if not any(c.isspace() for c in word):
            yield word
            continue
        try:
            inner = shlex.split(word)
        except ValueError:
            inner = [word]
        # One word again: it was text in quotes, or nothing can be taken apart.
        yield from inner if len(inner) == 1 else _words(inner)


def is_value(word: str) -> bool:
    """Whether a word may be the value of the flag before it: no flag, or a negative number."""
    return not word.startswith("-") or _NEGATIVE.match(word) is not None


def _explained(name: str, keys: Collection[str]) -> bool:
    if name in keys or name.removeprefix("no_") in keys:
        return True
    for suffix in SWEEPING:
        stem = name.removesuffix(suffix)
        # `--null-route-sweep` sweeps null_route_frac.
        if stem != name and any(key == stem or key.startswith(f"{stem}_") for key in keys):
            return True
    return False
