"""The predicates of stop criteria, and how they are read from what a header says.

A predicate is a mapping with one key, its kind:

    compared      named values of an axis were compared like for like, in enough cases
    verdict       the same, and a verdict can be stated
    sweep         every named value of an axis was measured, with identical controls when there are any
    measured      enough cases have enough runs
    target        a metric has reached a number
    budget        runs or hours are spent
    plateau       the best number has not improved for some entries
    date          a day has come
    judgement     a person has to say
    all, any      of several predicates
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date
from typing import Any

from logbook_agent.model.codec import CodecError, decode
from logbook_agent.model.errors import UsageError
from logbook_agent.model.values import Scalar

VERDICTS = ("beneficial", "neutral", "regressive")


class PredicateError(ValueError):
    """What does not fit, with its place, and the close word where there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairsCompared:
    """`values` of `axis`, the first being the base, in `cases` pairs that may be compared; for each combination of
    `for_each` when it is given. `where` and `device` (a part of the device's kind) choose the rows."""

    axis: str
    values: tuple[Scalar, ...]
    cases: int = 1
    metric: str | None = None
    where: dict[str, Scalar] = field(default_factory=dict)
    device: str | None = None
    for_each: dict[str, tuple[Scalar, ...]] = field(default_factory=dict)
    implied: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictStated(PairsCompared):
    """As `PairsCompared`, and each of these pairs has a verdict among `verdicts`, from `min_effect` (a fraction) on."""

    verdicts: tuple[str, ...] = VERDICTS
    min_effect: float = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Every one of `values` of `axis` was measured; with `controls`, beside a case that differs in these alone."""

    axis: str
    values: tuple[Scalar, ...]
    controls: dict[str, Scalar] = field(default_factory=dict)
    where: dict[str, Scalar] = field(default_factory=dict)
    device: str | None = None
    for_each: dict[str, tuple[Scalar, ...]] = field(default_factory=dict)
    implied: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """At least `cases` cases with at least `runs` runs each."""

    cases: int = 1
    runs: int = 1
    where: dict[str, Scalar] = field(default_factory=dict)
    device: str | None = None
    for_each: dict[str, tuple[Scalar, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The median over at least `runs` runs of some case has reached the number, in the metric's declared unit."""

    metric: str
    at_least: float | None = None
    at_most: float | None = None
    runs: int = 1
    where: dict[str, Scalar] = field(default_factory=dict)
    device: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Met when it is spent: so many runs, or so many hours of runs."""

    runs: int | None = None
    hours: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plateau:
    """The last `entries` entries that measured the metric did not beat the best before by more than `within`."""

    metric: str
    entries: int
    within: float = 0.01
    where: dict[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """Met from this day on, in UTC."""

    day: date


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A person's word, signed with its evidence, and nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Several:
    """All, or any, of the parts."""

    parts: tuple[Predicate, ...]
    every: bool


Predicate = PairsCompared | Sweep | Measured | Target | Budget | Plateau | Day | Judged | Several

_KINDS: Mapping[str, Any] = {
    "compared": PairsCompared,
    "verdict": VerdictStated,
    "sweep": Sweep,
    "measured": Measured,
    "target": Target,
    "budget": Budget,
    "plateau": Plateau,
}
_WORDS = (*_KINDS, "date", "judgement", "all", "any")


def parse(data: object) -> Predicate:
    """The predicate that a header states. Raises PredicateError."""
    if not isinstance(data, Mapping) or len(data) != 1:
        raise PredicateError(f"a predicate has one key, its kind: {', '.join(_WORDS)}")
    ((kind, value),) = data.items()
    if (place := _nan(value)) is not None:
        raise PredicateError(f"{kind}{place}: not a number (NaN) equals nothing and is never reached")
    if kind in ("all", "any"):
        return _several(str(kind), value)
    if kind == "date":
        return Day(day=_day(value))
    if kind == "judgement":
        if value not in ({}, None):
            raise PredicateError(f"judgement: takes no value, got {value!r}; write judgement: {{}}")
        return Judged()
    if kind not in _KINDS:
        raise PredicateError(f"unknown predicate {kind!r}{_close(str(kind), _WORDS)}")
    try:
        found: Predicate = decode(_KINDS[kind], value, str(kind))
    except CodecError as error:
        raise PredicateError(_said(error, _KINDS[kind])) from None
    _check(str(kind), found)
    return found


def _nan(value: object, place: str = "") -> str | None:
    """Where in a predicate a NaN stands."""
    if isinstance(value, float) and math.isnan(value):
        return place
    parts: Iterable[tuple[str, object]] = ()
    if isinstance(value, Mapping):
        parts = ((f".{key}", part) for key, part in value.items())
    elif isinstance(value, list | tuple):
        parts = ((f"[{at}]", part) for at, part in enumerate(value))
    return next((found for name, part in parts if (found := _nan(part, place + name)) is not None), None)


def _several(kind: str, value: object) -> Several:
    if not isinstance(value, list | tuple) or not value:
        raise PredicateError(f"{kind}: expected a list of predicates")
    return Several(parts=tuple(parse(part) for part in value), every=kind == "all")


def _day(value: object) -> date:
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        raise PredicateError(f"date: {value!r} is not a date; write it as 2026-12-31") from None


def _said(error: CodecError, cls: Any) -> str:
    if error.message != "unknown key":
        return str(error)
    return str(error) + _close(error.path[-1].removeprefix("."), [f.name for f in fields(cls)])


def _close(word: str, words: Sequence[str]) -> str:
    from difflib import get_close_matches  # costs more than the rest; only errors need it

    close = get_close_matches(word, list(words), n=1)
    return f"; did you mean {close[0]}?" if close else f"; available: {', '.join(words)}"


def _check(kind: str, found: Predicate) -> None:
    """What no type says."""
    trouble = None
    match found:
        case PairsCompared(values=values) if len(values) < 2:
            trouble = "values: at least two are needed, the first is the base"
        case Sweep(values=()):
            trouble = "values: none are named"
        case Target(at_least=low, at_most=high) if (low is None) == (high is None):
            trouble = "say either at_least or at_most"
        case Budget(runs=None, hours=None):
            trouble = "say runs, hours, or both"
        case Budget(runs=int(n)) if n < 1:
            trouble = f"runs: at least 1 is needed, not {n}"
        case Budget(hours=float(n)) if n <= 0:
            trouble = f"hours: a time above zero is needed, not {n:g}"
        case VerdictStated(verdicts=words) if not words or not set(words) <= set(VERDICTS):
            trouble = f"verdicts: of {', '.join(VERDICTS)}"
        case VerdictStated(min_effect=part) | Plateau(within=part) if not 0 <= part < 1:
            trouble = "a fraction from 0 up to 1 is needed: 0.01 for 1%"
        case PairsCompared(cases=n) | Measured(cases=n) | Plateau(entries=n) if n < 1:
            trouble = "at least 1 is needed"
        case Measured(runs=n) | Target(runs=n) if n < 1:
            trouble = "runs: at least 1 is needed"
    empty = next((name for name, values in getattr(found, "for_each", {}).items() if not values), None)
    if empty is not None:
        trouble = f"for_each.{empty}: no values, so it would hold for nothing"
    if trouble is not None:
        raise PredicateError(f"{kind}: {trouble}")


def checked_predicate(data: object) -> dict[str, Any]:
    """A predicate as a header keeps it: plain data, dates as text. Raises UsageError for what is none."""
    plain = _plain(data)
    try:
        parse(plain)
    except PredicateError as error:
        raise UsageError(
            f"the predicate is not valid: {error}",
            cause=f"a stop criterion is checked by one of: {', '.join(_WORDS)}",
            hint="write it in this form: {compared: {axis: quant_mode, values: [none, int8]}}",
        ) from None
    assert isinstance(plain, dict)  # noqa: S101  else it would not have been read
    return plain


def _plain(data: object) -> object:
    if isinstance(data, date):
        return data.isoformat()
    if isinstance(data, dict):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_plain(value) for value in data]
    return data
