"""Which flags a command line sets, and what it says beyond those that config explains. A RESULT key that matches a flag
is config.

And values of an axis: as a list in one word of a command, `2,4,8` and `"16,4","8"`; in the order that readers expect,
as declared, numbers by size, words by their letters; and the place of a value in a command.
"""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec import Struct

from logbook_agent.model.values import canonical
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


# -- values of an axis -----------------------------------------------------------------------------


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
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


def has_place(words: Sequence[str], axis: str) -> bool:
    """Whether a command says itself where the value stands."""
    return any(ANY in word or f"{{{axis}}}" in word for word in words)


def flag_places(words: Sequence[str], axis: str) -> list[tuple[int, str]]:
    """The words that hold a value of the axis's flag: the position of each, and the word with `{axis}` in place of the
    value. Assignments before the program set variables, and are none."""
    wanted, found = normal_name(axis), []
    program = next((at for at, word in enumerate(words) if not _ASSIGNMENT.match(word)), 0)
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
