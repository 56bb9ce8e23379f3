"""The findings of one question: its pairs pooled over the entries that share it, and judged by the rule.

Goals (the metrics asked for) are one family, corrected for all its members. Every other metric is watched: each is
judged at its own level.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import datetime
from typing import Any, TypeAlias

from logbook_agent.findings.comparison.answer import EntrySeries, Finding, Judged, Outcome, PairSeries, RunPair, Side
from logbook_agent.findings.comparison.resolution import step_of
from logbook_agent.model.comparison import APART_S, FIRST_LOOK, LOOKS, Question
from logbook_agent.model.header import Metric, metric_named
from logbook_agent.model.record import digest
from logbook_agent.model.stats import median
from logbook_agent.model.units import Direction
from logbook_agent.model.values import canonical, varied
from logbook_agent.text.phrases import counted

# A run that takes so many times the median of its side is slow, and named when some but few are.
_SLOW = 1.5
# The logarithm of the largest ratio that is a number, about.
_LARGEST_LOG = 700.0

# The series of the entries by side, case and metric.
Owns: TypeAlias = Mapping[tuple[str, str, str], Sequence[EntrySeries]]
# Gives the text that was kept in a place under a key, else makes it and keeps it.
Memo: TypeAlias = Callable[[str, str, Callable[[], str]], str]


def findings(question: Question, own: Owns, declared: Sequence[Metric], rule: Judge) -> tuple[Finding, ...]:
    """The finding of each metric, side and case; goals first, in the order of the sides and of the metrics. Goals are
    judged together; every other metric that is declared is watched, by itself."""
    names = [m.name for m in declared]
    pooled = [
        _pooled(place, of, declared)
        for place, of in own.items()
        if place[2] and (question.decides(place[2]) or place[2] in names)
    ]
    places = list(dict.fromkeys((p.side, p.case) for p in pooled))
    named = _named_cases(pooled)
    found: list[Finding] = []
    goals = [p for p in pooled if question.decides(p.metric)]
    for family in (goals, *([p] for p in pooled if not question.decides(p.metric))):
        series = [p.series(places.index((p.side, p.case))) for p in family]
        judged = rule.judged("goals" if family is goals else f"watched {family[0].name}", series) if family else ()
        for p, s, j in zip(family, series, judged, strict=True):
            found.append(_finding(p, s, j, question, rule, named[p.side, p.case]))
    order = {name: at for at, name in enumerate(dict.fromkeys([*question.metrics, *names]))}
    return tuple(sorted(found, key=lambda f: (f.is_watched, _rank(f, question), order.get(f.metric, len(order)))))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pooled:
    """The pairs of one side, case and metric over all entries, in the order of their starts, each with the number of
    its entry; so many `copies` of others are left out."""

    side: str
    case: str
    metric: str
    unit: str | None
    direction: Direction | None
    pairs: tuple[tuple[int, RunPair], ...]
    copies: int
    of: Sequence[EntrySeries]

    @property
    def name(self) -> str:
        return f"{self.side} {self.case} {self.metric}"

    def step(self, count: int) -> float:
        """The last printed digit of the values of the first `count` pairs, relative to their size."""
        return step_of([v for _, p in self.pairs[:count] for v in (p.base, p.other) if v is not None])

    def series(self, draws: int) -> PairSeries:
        """The series as the rule judges it. Series of equal `draws` share their coins."""
        return PairSeries(
            y=tuple(_log(p) for _, p in self.pairs),
            signs=tuple(p.sign for _, p in self.pairs),
            entries=tuple(number for number, _ in self.pairs),
            draws=draws,
            steps=tuple(_rounded_apart(self.step(n)) for n in LOOKS if n <= max(len(self.pairs), FIRST_LOOK)),
        )


def _pooled(place: tuple[str, str, str], of: Sequence[EntrySeries], declared: Sequence[Metric]) -> _Pooled:
    side, case, name = place
    metric = metric_named(name, declared)
    unit, direction = metric.unit, metric.direction
    for s in of:
        unit, direction = unit or s.unit, direction or s.direction
    made = sorted(((n, p) for n, s in enumerate(of) for p in s.pairs), key=lambda x: x[1][:2])
    # A copied record holds runs that another one has.
    pairs: dict[object, tuple[int, RunPair]] = {}
    for at, (n, p) in enumerate(made):
        pairs.setdefault(p.runs or at, (n, p))
    return _Pooled(
        side=side,
        case=case,
        metric=name,
        unit=unit,
        direction=direction,
        pairs=tuple(pairs.values()),
        copies=len(made) - len(pairs),
        of=of,
    )


def _log(pair: RunPair) -> float | None:
    """log later - log earlier of a pair; None where a side has no value."""
    if pair.base is None or pair.other is None:
        return None
    return pair.sign * (math.log(pair.other) - math.log(pair.base))


def _rank(finding: Finding, question: Question) -> int:
    """The rank of a finding's side among the sides of the question."""
    return question.sides.index(finding.side) if finding.side in question.sides else len(question.sides)


def _named_cases(pooled: Sequence[_Pooled]) -> dict[tuple[str, str], dict[str, str]]:
    """The config that tells each case from the others, else its name. A case that is alone is what its name says:
    `size=3`."""
    configs = {(p.side, p.case): p.of[0].config for p in pooled}
    if len({case for _, case in configs}) < 2:
        name = " ".join(["", *dict.fromkeys(s.name for p in pooled for s in p.of), ""])
        return {
            at: {n: canonical(v) for n, v in config.items() if f" {n}={canonical(v)} " in name}
            for at, config in configs.items()
        }
    names = varied(configs.values())
    told = {at: {n: canonical(c[n]) for n in names if n in c} for at, c in configs.items()}
    by_case = {case: told[side, case] for side, case in configs}
    if len({repr(sorted(one.items())) for one in by_case.values()}) < len(by_case):
        return {(side, case): {"case": case} for side, case in configs}
    return told


def _change(log_ratio: float | None) -> float | None:
    """A log ratio as a change (a fraction), at most the largest that is a number."""
    return None if log_ratio is None else math.expm1(min(log_ratio, _LARGEST_LOG))


def _finding(
    p: _Pooled, series: PairSeries, judged: Judged, question: Question, rule: Judge, case: Mapping[str, str]
) -> Finding:
    good = [(pair.base, pair.other) for _, pair in p.pairs if pair.base is not None and pair.other is not None]
    base, other = (_side([values[at] for values in good]) for at in (0, 1))
    outcome = _outcome(judged, p.direction)
    reasons = left_out(p.of)
    if p.copies:
        reasons["already counted in another record"] = p.copies
    return Finding(
        metric=p.metric,
        unit=p.unit,
        direction=p.direction,
        is_watched=not question.decides(p.metric),
        side=p.side,
        case=case,
        config={name: canonical(value) for name, value in p.of[0].config.items()},
        device=p.of[0].device,
        base=base,
        other=other,
        outcome=outcome,
        change=_change(judged.estimate),
        low=_change(judged.low),
        high=_change(judged.high),
        pairs=len(good),
        judged=judged.pairs,
        left_out=pairs_left_out(reasons),
        notes=_notes(p, base, other, question),
        to_settle=_to_settle(p, series, judged, rule) if outcome is Outcome.OPEN else "",
        is_replicated=rule.again(p, judged) if outcome is not Outcome.OPEN else None,
        series=series,
    )


def _to_settle(p: _Pooled, series: PairSeries, judged: Judged, rule: Judge) -> str:
    return rule.to_settle(p, series) if judged.outcome == "open" else f"a direction of {p.metric}"


def _notes(p: _Pooled, base: Side, other: Side, question: Question) -> tuple[str, ...]:
    """Notes beside the numbers: other differences, a metric without a direction, coarse values, slow runs."""
    notes = [*_slow(p.side, other, p.direction), *_slow(question.base, base, p.direction)]
    if p.direction is None:
        stated = f"{{name: {p.metric}, direction: min}}"
        notes.append(f"which way is better is not stated: add {stated}, or max, to metrics in logbook.yaml")
    if (step := p.step(len(p.pairs))) > question.minimum_effect / 4:
        notes.append(f"values come in steps of {100 * step:.3g}%")
    return (*notes, *dict.fromkeys(text for s in p.of for text in s.cautions))


def left_out(series: Iterable[EntrySeries]) -> dict[str, int]:
    """How many pairs do not count, by reason."""
    return sum((Counter(one.left_out) for one in series), Counter())


def pairs_left_out(left_out: Mapping[str, int]) -> tuple[str, ...]:
    """`2 pairs: a value is missing`, for each reason."""
    return tuple(f"{counted(n, 'pair')}: {why}" for why, n in left_out.items())


def _side(values: Sequence[float]) -> Side:
    if not values:
        return Side()
    return Side(median=median(values), low=min(values), high=max(values), values=tuple(values))


def _outcome(judged: Judged, direction: Direction | None) -> Outcome:
    """The outcome of a metric with this direction."""
    if judged.outcome == "same":
        return Outcome.NO_DIFFERENCE
    if judged.outcome == "open" or direction is None:
        return Outcome.OPEN
    return Outcome.BETTER if (judged.outcome == "more") == (direction == "max") else Outcome.WORSE


def _rounded_apart(step: float) -> float:
    """How far values of both sides may have been rounded apart, as a logarithm: by half a step each."""
    return 2 * math.atanh(step / 2)


def _slow(name: str, side: Side, direction: Direction | None) -> list[str]:
    """A note on rare slow runs, which the median hides."""
    if side.median is None or direction is None:
        return []
    parts = [v / side.median if direction == "min" else side.median / v for v in side.values]
    slow = [part for part in parts if part >= _SLOW]
    if not slow or len(slow) > len(parts) / 4:
        return []
    what = "took" if direction == "min" else "fell behind"
    return [f"{len(slow)} of {len(parts)} runs of {name} {what} {max(slow):.1f}x the median"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """The rule on the terms of one question. `memo` keeps what it finds, in places named after `key`."""

    key: str
    bound: float
    seed: int
    memo: Memo

    def judged(self, name: str, family: Sequence[PairSeries], seed: int | None = None) -> list[Judged]:
        """What the rule finds of the series of one family, judged together."""
        seed = self.seed if seed is None else seed

        def make() -> str:
            from logbook_agent.findings.comparison.rule import judge

            return json.dumps([astuple(j) for j in judge(family, bound=self.bound, seed=seed)])

        found = self._kept(name, [astuple(s) for s in family], make)
        fields = ("outcome", "estimate", "low", "high", "pairs")
        return [Judged(**dict(zip(fields, one, strict=True))) for one in found]

    def to_settle(self, p: _Pooled, series: PairSeries) -> str:
        """How many more pairs would probably settle a series."""

        def make() -> str:
            from logbook_agent.findings.comparison.power import to_settle

            return json.dumps(to_settle(series, bound=self.bound))

        return str(self._kept(f"to settle {p.name}", astuple(series), make))

    def again(self, p: _Pooled, judged: Judged) -> bool | None:
        """Whether the pairs of later sittings, by themselves, settle it in the same way; None where they settle
        nothing."""
        good = tuple(x for x in p.pairs if _log(x[1]) is not None)
        later = next((at for at in sittings([x[:2] for _, x in good]) if at >= judged.pairs > 0), None)
        if later is None:
            return None
        [second] = self.judged(f"again {p.name}", [replace(p, pairs=good[later:]).series(0)], self.seed + 1)
        return None if second.outcome == "open" else second.outcome == judged.outcome

    def _kept(self, name: str, of: object, make: Callable[[], str]) -> Any:
        return json.loads(self.memo(f"judged {self.key} {name}", digest(self.bound, self.seed, of), make))


def sittings(times: Sequence[tuple[str, str]]) -> list[int]:
    """The places, in times sorted by start, where a sitting begins: a break of APART_S after all runs before."""
    found: list[int] = []
    last = ""
    for at, (started, ended) in enumerate(times):
        if not found or _gap_s(last, started) > APART_S:
            found.append(at)
        last = max(last, ended)
    return found


def _gap_s(ended: str, started: str) -> float:
    try:
        return (datetime.fromisoformat(started) - datetime.fromisoformat(ended)).total_seconds()
    except (ValueError, TypeError):  # no time, or one without a zone
        return 0.0
