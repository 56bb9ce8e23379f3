"""In what two command lines differ, beyond the flags that config explains."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from logbook_agent.running.commands.flags import SWEEPING, normal_name

_LONG = re.compile(r"(?P<flag>--[A-Za-z][\w.-]*)(?:=(?P<value>.*))?", re.DOTALL)
_PAIR = re.compile(r"(?P<flag>[A-Za-z_][\w.-]*)=(?P<value>.*)", re.DOTALL)
# By which a command reports what it measured (see `results.lines`).
_REPORT = re.compile(r"\b(?:RESULT|METRIC)$")
_NEGATIVE = re.compile(r"-\.?\d")

Flags = Mapping[str, tuple[str, ...]]
# Whether two words, of the base and of the other command, say the same thing in other values.
SameWord = Callable[[str, str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A command line without the order of its flags: values by flag as typed (`--topk`, `K` of `K=V`), other words.

    A switch has no value: the empty text stands for it.
    """

    flags: tuple[tuple[str, tuple[str, ...]], ...]
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WordsDiffer:
    """`name` is `argv:--flag` for a flag, `argv` for the other words; None: the side does not have it."""

    name: str
    base: str | None
    other: str | None


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
        if value is None and not is_switch and at < len(rest) and _is_value(rest[at]):
            value = rest[at]
            at += 1
        if not _explained(name, keys) and not (reports and long is None and name in results):
            found.setdefault(match["flag"], []).append(value or "")
    return Parts(flags=tuple((flag, tuple(found[flag])) for flag in sorted(found)), words=tuple(words))


def differences(base: Parts, other: Parts, same: SameWord) -> list[WordsDiffer]:
    """What two commands have in other words, flags first. Words at one place that are the `same` do not differ."""
    first, last = dict(base.flags), dict(other.flags)
    found = [
        WordsDiffer(name=f"argv:{flag}", base=_text(first, flag), other=_text(last, flag))
        for flag in dict.fromkeys((*first, *last))
        if first.get(flag) != last.get(flag)
    ]
    mine, theirs = _rest(base.words, other.words, same)
    if mine or theirs:
        found.append(WordsDiffer(name="argv", base=_joined(mine), other=_joined(theirs)))
    return found


def _rest(base: Sequence[str], other: Sequence[str], same: SameWord) -> tuple[Sequence[str], Sequence[str]]:
    """The words in which two sequences differ: place by place, else between a common start and a common end."""
    if len(base) == len(other):
        pairs = [(a, b) for a, b in zip(base, other, strict=True) if a != b and not same(a, b)]
        return [a for a, _ in pairs], [b for _, b in pairs]
    start = 0
    while start < min(len(base), len(other)) and base[start] == other[start]:
        start += 1
    base, other = base[start:], other[start:]
    while base and other and base[-1] == other[-1]:
        base, other = base[:-1], other[:-1]
    return base, other


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


def _is_value(word: str) -> bool:
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


def _text(flags: Flags, flag: str) -> str | None:
    return _joined(flags[flag], alone="set") if flag in flags else None


def _joined(words: Sequence[str], *, alone: str = "") -> str | None:
    return " ".join(w or alone for w in words) if words else None
