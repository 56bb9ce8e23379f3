"""The predicates of stop criteria, and how they are read from what a header says.

A predicate is a mapping with one key, its kind:

    compared      named values were measured like for like, or (`settled`) comparisons settled which is better
    target        a metric has reached a number
    budget        that of the header is spent; before it stood there, so many runs or hours
    date          a day has come
    judgement     a person has to say
    all, any      of several predicates
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, TypeAlias

from msgspec import Struct, field, structs

from logbook_agent.findings.comparison.answer import SETTLED
from logbook_agent.model.codec import CodecError, decode
from logbook_agent.model.comparison import MINIMUM_EFFECT, OF_CODE, code_hash
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import Budget
from logbook_agent.model.values import Scalar, canonical
from logbook_agent.text.phrases import nearest

Values: TypeAlias = tuple[Scalar, ...]
Config: TypeAlias = Mapping[str, Scalar]


class PredicateError(ValueError):
    """What does not fit, with its place, and the close word where there is one."""


class SideBySide(Struct, frozen=True, kw_only=True):
    """Each of `values` of `axis` beside the first, its base, or with `controls` beside the case that differs from it in
    these keys: in `cases` cases with the values of `where`, for each combination of `for_each`, on a device whose kind
    holds `device`. What is `implied` by the axis may differ, too. `settled`: comparisons with a minimum effect of at
    most `min_effect` (a fraction) have to answer it by one of `outcomes`; else pairs or rows that differ in nothing
    else are enough."""

    axis: str
    values: Values
    controls: dict[str, Scalar] = field(default_factory=dict)
    where: dict[str, Scalar] = field(default_factory=dict)
    for_each: dict[str, Values] = field(default_factory=dict)
    device: str | None = None
    cases: int = 1
    metric: str | None = None
    implied: tuple[str, ...] = ()
    settled: bool = False
    outcomes: tuple[str, ...] = SETTLED
    min_effect: float = MINIMUM_EFFECT

    def sides(self) -> Iterator[tuple[Config, Config]]:
        """The values of each base, and of the side that is compared with it."""
        for at in itertools.product(*self.for_each.values()):
            place = {**self.where, **dict(zip(self.for_each, at, strict=True))}
            points = [{**place, self.axis: value} for value in self.values]
            if self.controls:
                yield from ((base, p) for p in points if (base := {**p, **self.controls}) != p)
            else:
                yield from ((points[0], point) for point in points[1:])


class Target(Struct, frozen=True, kw_only=True):
    """Some case has reached the number, in the metric's declared unit, with `runs` runs or more."""

    metric: str
    at_least: float | None = None
    at_most: float | None = None
    runs: int = 1
    where: dict[str, Scalar] = field(default_factory=dict)
    device: str | None = None


class Day(Struct, frozen=True, kw_only=True):
    """Met from this day on, in UTC."""

    day: date


class ByPerson(Struct, frozen=True, kw_only=True):
    """A person's word, signed with its evidence, and nothing else."""


class Several(Struct, frozen=True, kw_only=True):
    """All, or any, of the parts."""

    parts: tuple[Predicate, ...]
    every: bool


Predicate = SideBySide | Target | Budget | Day | ByPerson | Several

_KINDS: Mapping[str, Any] = {"compared": SideBySide, "target": Target, "budget": Budget, "judgement": ByPerson}
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
# A name of code that is other code as work goes on.
MOVING = re.compile(r"(?<![\w./-])(?:WORK|HEAD|@)(?![\w/.-])[~^\d]*")
_WORDS = (*_KINDS, "date", "all", "any")


def parse(data: object) -> Predicate:
    """The predicate that a header states. Raises PredicateError."""
    if not isinstance(data, Mapping) or len(data) != 1:
        raise PredicateError(f"a predicate has one key, its kind: {', '.join(_WORDS)}")
    ((kind, value),) = data.items()
    try:
        json.dumps(value, allow_nan=False, default=str)
    except ValueError:
        raise PredicateError(f"{kind}: .nan and .inf are never reached") from None
    if kind in ("all", "any"):
        if not isinstance(value, list | tuple) or not value:
            raise PredicateError(f"{kind}: expected a list of predicates")
        return Several(parts=tuple(map(parse, value)), every=kind == "all")
    if kind == "date":
        try:
            return Day(day=date.fromisoformat(str(value)))
        except ValueError:
            raise PredicateError(f"date: {value!r} is not a date; write it as 2026-12-31") from None
    if kind not in _KINDS:
        raise PredicateError(f"unknown predicate {kind!r}{_close(str(kind), _WORDS)}")
    try:
        found: Predicate = decode(_KINDS[kind], value or {}, str(kind))
    except CodecError as error:
        names = tuple(f.name for f in structs.fields(_KINDS[kind]))
        is_key = error.message == "unknown key"
        raise PredicateError(f"{error}{_close(error.path[-1][1:], names) if is_key else ''}") from None
    if (wrong := next(_wrong(found), None)) is not None:
        raise PredicateError(f"{kind}: {wrong}")
    return found


def _close(word: str, words: tuple[str, ...]) -> str:
    near = nearest(word, words)
    return f"; did you mean {near}?" if near else f"; available: {', '.join(words) or 'none'}"


def _wrong(found: Predicate) -> Iterator[str]:
    """What no type says."""
    match found:
        case SideBySide():
            yield from (f"{v} is other code tomorrow; name a branch, a tag or a commit" for v in _moving(found))
            yield from _wrong_comparison(found)
        case Target(at_least=low, at_most=high) if (low is None) == (high is None):
            yield "say either at_least or at_most"
    for name in ("cases", "runs", "hours"):
        if (number := getattr(found, name, None)) is not None and number <= 0:
            yield f"{name}: expected a number above 0, got {number:g}"


def _moving(found: SideBySide) -> list[Scalar]:
    """The values that name other code as work goes on."""
    return [v for v in found.values if found.axis in OF_CODE and str(v).startswith(("HEAD", "@", "WORK"))]


def _names(found: SideBySide) -> list[str]:
    """What each value names: of a commit in any length, and of a tag with its commit, the first digits."""
    if found.axis not in OF_CODE:
        return [*map(canonical, found.values)]
    codes = (code_hash(str(value)) for value in found.values)
    return [code[:7] if _COMMIT.fullmatch(code) else code for code in codes]


def _wrong_comparison(c: SideBySide) -> Iterator[str]:
    if len({*(names := _names(c))}) < len(names):
        yield f"values: {next(name for name in names if names.count(name) > 1)} is there twice"
    if len(c.values) < 2 and not (c.values and c.controls):
        yield "values: at least two are needed, the first is the base"
    if c.controls and (name := next((n for n in c.controls if n not in {c.axis, *c.where, *c.for_each}), None)):
        yield f"controls.{name}: state the other value of {name} in where, for_each or values"
    if not c.outcomes or not {*c.outcomes} <= {*SETTLED}:
        yield f"outcomes: expected some of {', '.join(SETTLED)}"
    if not c.settled and (c.outcomes, c.min_effect) != (SETTLED, MINIMUM_EFFECT):
        yield "outcomes and min_effect need settled: true"
    if not 0 <= c.min_effect < 1:
        yield "min_effect: expected a fraction from 0 up to 1, such as 0.01"
    for name, values in c.for_each.items():
        if not values:
            yield f"for_each.{name}: no values, so it would hold for nothing"


_FORMS = {
    "target": "{target: {metric: tflops, at_least: 100}}",
    "budget": "{budget: {runs: 40}}",
    "date": "{date: 2026-12-31}",
    "judgement": "{judgement: {}}",
    "compared": "{compared: {axis: quant_mode, values: [none, int8]}}",
}


def form_of(text: str) -> str:
    """How to write the predicate that a text names first."""
    kind = min(_FORMS, key=lambda kind: text.find(kind) if kind in text else math.inf)
    return f"write it in this form: '{_FORMS[kind if kind in text else 'compared']}'"


def checked_predicate(data: object, fixed: str = "") -> dict[str, Any]:
    """A predicate as a header keeps it: plain data, dates as text. Raises UsageError for what is none; its hint is
    `fixed`, what to type instead, where there is one."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(data, default=str))
        parse(plain)
    except (PredicateError, TypeError) as error:
        raise UsageError(
            f"the predicate is not valid: {error}",
            cause=f"a stop criterion is checked by one of: {', '.join(_WORDS)}",
            hint=fixed or form_of(str(data)),
        ) from None
    return plain
