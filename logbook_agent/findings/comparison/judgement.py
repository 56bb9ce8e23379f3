"""The findings of one question: its pairs, judged by the rule.

Goals (the metrics asked for), sides and cases share the 5%. Every other metric is watched: each is judged at its own
5%.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import pairwise

from msgspec import structs

from logbook_agent.findings.comparison.answer import Finding, Lacks, Outcome, Side
from logbook_agent.findings.comparison.metric_series import MetricSeries, ValuePair
from logbook_agent.findings.comparison.rule import Judged, Pair, estimate_of, judge, step_of
from logbook_agent.model.comparison import APART_S, BLOCK_PAIRS, MOST_PAIRS, Question
from logbook_agent.model.header import Metric
from logbook_agent.model.stats import median
from logbook_agent.model.units import Direction, is_timed
from logbook_agent.model.values import canonical
from logbook_agent.text.phrases import counted

# The logarithm of the largest ratio that is a number, about.
_LARGEST_LOG = 700.0
# Changes of one timing are alike to this part, and to this difference of logs: each metric is rounded for itself.
_ALIKE, _ROUNDING = 0.01, 1e-5
# With fewer pairs none are forecast, and what is lies within a factor of two or so.
_FORECAST_PAIRS, _ORDERS = 20, (10, 20, 50, MOST_PAIRS)


def findings(
    question: Question, series: Sequence[MetricSeries], declared: Sequence[Metric], fixed: int
) -> list[Finding]:
    """The finding of each series; goals first, in the order of the sides and of the metrics. Goals share the 5%; every
    other metric is watched, by itself. A `fixed` number of pairs is judged once."""
    found: list[Finding] = []
    goals = [p for p in series if question.decides(p.metric)]
    for family in (goals, *([p] for p in series if not question.decides(p.metric))):
        judged = _judged(family, question, looks=not fixed)
        again = _by_sitting(family, question, looks=not fixed)
        for p in family:
            is_replicated = _is_replicated(judged[p.key], [one[p.key] for one in again])
            found.append(_finding(p, judged[p.key], question, is_replicated, fixed))
    order = {name: at for at, name in enumerate(dict.fromkeys([*question.metrics, *(m.name for m in declared)]))}
    return sorted(found, key=lambda f: (f.is_watched, _rank(f, question), order.get(f.metric, len(order))))


def _step(p: MetricSeries, count: int) -> float:
    """How coarse the clock that measured the first `count` pairs may be, relative to the values of those that have a
    ratio."""
    pairs = ((one.base, one.other) for one in p.pairs[:count])
    both = [(base, other) for base, other in pairs if base is not None and other is not None]
    values = [value for pair in both for value in pair]
    if is_timed(p.unit) or not values:
        return step_of(values)
    # Whole numbers that are no times were counted; what repeats to its last digit is exact to that.
    if all(value.is_integer() for value in values):
        return 0.0
    if p.unit is None or any(len({*side}) > 1 for side in zip(*both, strict=True)):
        return step_of(values)
    digits = max(-int(Decimal(repr(value)).as_tuple().exponent) for value in values)
    return math.pow(10, -digits) / min(values)


def _steps(p: MetricSeries) -> list[float]:
    """The step after each block in which a pair has a ratio."""
    ends = {pair.block: at + 1 for at, pair in enumerate(_finished(p)) if pair.y is not None}
    return [_step(p, count) for count in ends.values()]


def _pairs(pairs: Iterable[ValuePair]) -> tuple[Pair, ...]:
    """The pairs, as the rule reads them."""
    return tuple(Pair(_log(one), one.sign, one.block) for one in pairs)


def _finished(p: MetricSeries) -> tuple[Pair, ...]:
    """The pairs of the blocks that are finished."""
    return _pairs(pair for pair in p.pairs if pair.is_done)


def _sittings(p: MetricSeries) -> list[MetricSeries]:
    """The blocks that each sitting began and finished."""
    found, pairs = [], sorted(p.pairs, key=lambda one: one[:2])
    for start, end in pairwise([*sittings([one[:2] for one in pairs]), len(pairs)]):
        elsewhere = {one.block for one in (*pairs[:start], *pairs[end:])}
        own = (one for one in pairs[start:end] if one.block not in elsewhere and one.is_done)
        found.append(structs.replace(p, pairs=sorted(own, key=lambda one: one.block)))
    return found


def _log(pair: ValuePair) -> float | None:
    """log later - log earlier of a pair; None where a side has no value."""
    if pair.base is None or pair.other is None:
        return None
    return pair.sign * (math.log(pair.other) - math.log(pair.base))


def _rank(finding: Finding, question: Question) -> int:
    """The rank of a finding's side among the sides of the question."""
    return question.sides.index(finding.side) if finding.side in question.sides else len(question.sides)


def _change(log_ratio: float | None) -> float | None:
    """A log ratio as a change (a fraction), at most the largest that is a number; None for an end that is unknown."""
    if log_ratio is None or math.isinf(log_ratio):
        return None
    return math.expm1(min(log_ratio, _LARGEST_LOG))


def _judged(family: Sequence[MetricSeries], question: Question, *, looks: bool) -> dict[str, Judged]:
    series, steps = {p.key: _finished(p) for p in family}, {p.key: _steps(p) for p in family}
    share = _distinct(family)
    return judge(series, minimum=question.minimum_effect, steps=steps, looks=looks, share=share)


def _distinct(family: Sequence[MetricSeries]) -> int:
    """How many series there are. Metrics of one timing, such as a time and its rate, change alike in every pair: they
    are one."""
    kept: list[MetricSeries] = []
    for p in family:
        if not any(
            (p.side, p.name) == (one.side, one.name) and _is_alike(_pairs(p.pairs), _pairs(one.pairs)) for one in kept
        ):
            kept.append(p)
    return len(kept)


def _is_alike(series: Sequence[Pair], other: Sequence[Pair]) -> bool:
    if len(series) != len(other):
        return False
    both = [(a.y, b.y) for a, b in zip(series, other, strict=True)]
    if any((a is None) != (b is None) for a, b in both):
        return False
    changes = [(a, b) for a, b in both if a is not None and b is not None]
    return any(all(abs(a - sign * b) <= _ROUNDING + _ALIKE * abs(a) for a, b in changes) for sign in (1, -1))


def _by_sitting(family: Sequence[MetricSeries], question: Question, *, looks: bool) -> list[dict[str, Judged]]:
    """What each sitting finds by itself; nothing where there is one alone."""
    found = [_sittings(p) for p in family]
    count = max(map(len, found), default=0)
    if count < 2:
        return []
    parts = [
        [of[at] if at < len(of) else structs.replace(of[0], pairs=[]) for of in found if of] for at in range(count)
    ]
    whole = {p.key: Judged() for p in family}
    return [{**whole, **_judged(part, question, looks=looks)} for part in parts]


def _is_replicated(judged: Judged, sittings: Sequence[Judged]) -> bool | None:
    """Whether two sittings settle it alike, each by itself; False where one settles it otherwise, None where no second
    one does."""
    outcomes = [one.outcome for one in sittings if one.outcome != "open"]
    if any(outcome != judged.outcome for outcome in outcomes):
        return False
    return True if len(outcomes) > 1 else None


def _finding(p: MetricSeries, judged: Judged, question: Question, is_replicated: bool | None, fixed: int) -> Finding:
    good = [(pair.base, pair.other) for pair in p.pairs if pair.base is not None and pair.other is not None]
    base, other = (_side([values[at] for values in good], p.runs[at]) for at in (0, 1))
    outcome = _outcome(judged, p.direction)
    # Of the first look, if no second sitting settles it as well.
    times = [pair[:2] for pair in p.pairs if pair.base is not None and pair.other is not None]
    decided = times if outcome is Outcome.OPEN or is_replicated else times[: judged.pairs]
    return Finding(
        metric=p.metric,
        unit=p.unit,
        direction=p.direction,
        is_watched=not question.decides(p.metric),
        side=p.side,
        name=p.name,
        config={name: canonical(value) for name, value in p.config.items()},
        device=p.device,
        base=base,
        other=other,
        outcome=outcome,
        change=_change(estimate_of(_pairs(p.pairs)) if judged.estimate is None else judged.estimate),
        low=_change(judged.low),
        high=_change(judged.high),
        pairs=len(good),
        judged=judged.pairs,
        sittings=len(sittings(sorted(decided))),
        left_out=pairs_left_out(p.left_out),
        notes=_notes(p, judged, question, is_asked_again=not is_replicated and len(sittings(sorted(times))) > 1),
        lacks=_lacks(p, judged, fixed) if outcome is Outcome.OPEN else None,
        is_replicated=is_replicated if outcome is not Outcome.OPEN else None,
    )


def _lacks(p: MetricSeries, judged: Judged, fixed: int) -> Lacks:
    """What an open finding needs: the rest of a `fixed` number of pairs. Others are added in whole blocks: after fewer
    than two those to the next look, then a forecast, of which the order is right at best."""
    if judged.outcome != "open":
        return Lacks("direction")
    if p.pairs and all(pair.y is None for pair in _pairs(p.pairs)):
        return Lacks("values")
    if len(p.pairs) < fixed:
        return Lacks("pairs", fixed - len(p.pairs))
    done = len(_finished(p))
    if judged.pairs < _FORECAST_PAIRS:
        return Lacks("pairs", BLOCK_PAIRS - (len(p.pairs) - done) % BLOCK_PAIRS)
    if judged.needed > MOST_PAIRS:
        return Lacks("pairs")
    return Lacks("pairs", min(next(n for n in _ORDERS if n >= judged.needed - done), MOST_PAIRS - done))


# So many runs that measure the same number are no accident.
_FROZEN = 3


def _notes(p: MetricSeries, judged: Judged, question: Question, *, is_asked_again: bool) -> tuple[str, ...]:
    """Notes beside the numbers: other differences, a metric without a direction, coarse values."""
    notes = []
    if p.direction is None:
        watched = "" if question.decides(p.metric) else ":watched"
        typed = f"logbook edit --metric {p.metric}:min{watched} --reason TEXT"
        notes.append(f"nobody has stated which way is better; if less is: {typed}; else with :max")
    step = _step(p, len(p.pairs)) if judged.estimate is not None else 0.0
    readings = [value for one in p.pairs for value in (one.base, one.other) if value is not None]
    # Readings that repeat come of a coarse clock; others may lie so far apart by chance.
    if step > question.minimum_effect / 4 and len({*readings}) < len(readings):
        near = f"readings lie at least {100 * step:.3g}% apart, as of a coarse clock; the interval allows for one"
        notes.append(near if step < math.inf else "all values are the same")
    later = estimate_of([pair for pair in _pairs(p.pairs) if pair.y is not None][judged.pairs :])
    # Those that bear the interval out say nothing new, but for those of a second sitting that settles nothing.
    is_outside = later is not None and (judged.low is None or not judged.low <= later <= (judged.high or 0.0))
    if judged.outcome != "open" and later is not None and (is_outside or is_asked_again):
        notes.append(f"later pairs, which do not decide: {100 * math.expm1(later):+.3g}%")
    return (*notes, *p.cautions)


def frozen(f: Finding, base: str) -> Iterator[str]:
    """What is said of a side whose runs all measured one number, though the other side's vary; nothing of a count."""
    for name, side, rival in ((f.side, f.other, f.base), (base, f.base, f.other)):
        if side.runs < _FROZEN or side.low is None or side.low != side.high or rival.low == rival.high:
            continue
        if is_timed(f.unit) or not side.low.is_integer():
            yield f"all {side.runs} runs of {name} report {canonical(side.low)}: an old result, read again?"


def pairs_left_out(left_out: Mapping[str, int]) -> tuple[str, ...]:
    """`2 pairs: a value is missing`, for each reason."""
    return tuple(f"{counted(n, 'pair')}: {why}" for why, n in left_out.items())


def _side(values: Sequence[float], runs: Sequence[float]) -> Side:
    all_ = runs or values
    if not values:
        return Side()
    return Side(median=median(all_), low=min(all_), high=max(all_), runs=len(all_), values=tuple(values))


def _outcome(judged: Judged, direction: Direction | None) -> Outcome:
    """The outcome of a metric with this direction."""
    if judged.outcome == "same":
        return Outcome.NO_DIFFERENCE
    if judged.outcome == "open" or direction is None:
        return Outcome.OPEN
    return Outcome.BETTER if (judged.outcome == "more") == (direction == "max") else Outcome.WORSE


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
