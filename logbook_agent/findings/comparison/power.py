"""How likely further pairs are to settle a comparison: the rule judges simulated continuations of what was measured."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from logbook_agent.findings.comparison.answer import Finding, PairSeries
from logbook_agent.findings.comparison.rule import judge
from logbook_agent.model.comparison import LOOKS
from logbook_agent.text.phrases import counted

# So many continuations are simulated. With a chance of 5%, one of them settles the question in 87 of 100 cases.
_TRIALS = 40
# Standard normal quantiles: of what one look of the schedule may spend, and of settling in four cases of five.
_LEVEL, _FOUR_IN_FIVE = 2.6, 0.84
# So many pairs more: the orders of a few pairs are too few for any of them to be rare.
_FEW = 5
_MOST_PAIRS = 1_000
# Fewer pairs show no scatter to forecast from.
_FEWEST = 3


def chance_text(family: Sequence[PairSeries], *, bound: float, budget: int) -> str:
    """`20 pairs would settle it in about 8 of 10 cases if the effect so far is the true one, in 3 of 10 if it is 1%`:
    for the first of series that are judged together. Empty for fewer than three pairs."""
    if _have(family[0]) < _FEWEST:
        return ""
    seen = _tenths(family, budget, bound, None)
    text = f"{budget} pairs would settle it in about {seen} cases if the effect so far is the true one"
    least = _tenths(family, budget, bound, bound) if bound else ""
    return f"{text}, in {least} if it is {100 * math.expm1(bound):.3g}%" if bound else text


def is_hopeless(family: Sequence[PairSeries], count: int, *, bound: float, budget: int) -> bool:
    """Whether the chance of a difference, or of none, in any of the first `count` of series that are judged together is
    below 5% at all later looks within `budget` pairs: none of the continuations settles one. Their effects may be any
    that the pairs so far allow."""
    if any(_have(series) < _FEWEST for series in family[:count]):
        return False
    continued = _continued(family, budget, None, is_known=False)
    return not any(j.outcome != "open" for one in continued for j in judge(one, bound=bound, seed=0)[:count])


def to_settle(series: PairSeries, *, bound: float) -> str:
    """`about 12 more pairs`: what probably settles it, for the effect seen."""
    have, made = _have(series), len(series.y)
    if not have:
        return "runs in which both sides report a value above zero"
    is_few = have < LOOKS[0]
    needed = LOOKS[0] - have + made if is_few else pairs_needed(series, bound=bound)
    # Nothing is settled before the next look.
    at = next((n for n in LOOKS if needed is not None and n >= needed and n > made), None)
    if at is None:
        return "more pairs than is practical: measure for longer in each run, or state a larger minimum effect"
    return f"{'at least' if is_few else 'about'} {counted(at - made, 'more pair')}"


def pairs_needed(series: PairSeries, *, bound: float) -> int | None:
    """About how many pairs in all settle it in four of five cases, for the effect seen; None for more than 1,000.

    A look rejects an effect that lies _LEVEL standard errors away. So n = ((_LEVEL + _FOUR_IN_FIVE) * scatter /
    distance)^2 + _FEW pairs tell the effect seen from 0, or from both bounds. (Simulated for effects of 0 to 5% at 1, 2
    and 5% noise.)
    """
    effect, _, left = _seen(series)
    scatter = float(np.sqrt(np.mean(left**2)))
    step = series.step(len(series.y))
    is_large = abs(effect) >= bound and abs(effect) > step
    distance = max(abs(effect) if is_large else 0.0, bound - step - abs(effect))
    pairs = ((_LEVEL + _FOUR_IN_FIVE) * scatter / distance) ** 2 + _FEW if distance > 0 else math.inf
    return next((n for n in LOOKS if n >= pairs), None) if pairs <= _MOST_PAIRS else None


def chances(
    findings: Sequence[Finding], *, minimum_effect: float, effect: float, pairs: int
) -> tuple[float | None, ...]:
    """How often the rule would find a difference in each finding of one family if every change were `effect`, a
    fraction: with so many new pairs, which scatter as those measured do; None where none was."""
    family = [f.series for f in findings if f.pairs]
    found = iter(settled_parts(family, effect=math.log1p(effect), pairs=pairs, bound=math.log1p(minimum_effect)))
    return tuple(next(found) if f.pairs else None for f in findings)


def settled_parts(family: Sequence[PairSeries], *, effect: float, pairs: int, bound: float) -> list[float]:
    """How often the rule settles an effect (the log of a ratio; 0: that there is none) in each series of a family, in
    so many new pairs that scatter as those of the series do."""
    trials = [judge(_repeated(family, effect, pairs, seed), bound=bound, seed=0) for seed in range(_TRIALS)]
    wanted = "more" if effect > 0 else "same"
    return [sum(one.outcome == wanted for one in of) / _TRIALS for of in zip(*trials, strict=True)]


def _repeated(family: Sequence[PairSeries], effect: float, pairs: int, seed: int) -> list[PairSeries]:
    """Simulated series with this effect and the scatter of the given ones. They share their coins, so that each re-draw
    is computed once for all of them."""
    rng = np.random.default_rng(seed)
    signs = rng.choice((-1, 1), pairs)
    found = []
    for s in family:
        _, order, left = _seen(s)
        y = rng.choice(left, pairs) + effect * signs + order
        found.append(
            PairSeries(
                y=tuple(y.tolist()), signs=tuple(signs.tolist()), entries=(0,) * pairs, steps=(s.step(len(s.y)),)
            )
        )
    return found


def _have(series: PairSeries) -> int:
    """The number of pairs with a ratio."""
    return sum(y is not None for y in series.y)


def _tenths(family: Sequence[PairSeries], budget: int, bound: float, effect: float | None) -> str:
    """How often the first of series that are judged together is settled: `8 of 10`."""
    continued = _continued(family, budget, effect)
    found = [judge(one, bound=bound, seed=0)[0].outcome != "open" for one in continued]
    return f"{round(10 * sum(found) / len(found))} of 10"


def _seen(series: PairSeries) -> tuple[float, float, NDArray[np.float64]]:
    """The effect seen; the order effect seen (by how much the later run of a pair is higher); and what is left of each
    pair without both, scaled to the scatter of so many pairs."""
    there = [(y, sign) for y, sign in zip(series.y, series.signs, strict=True) if y is not None]
    y, signs = (np.array(column, float) for column in zip(*there, strict=True))
    both = np.subtract.outer(y[signs > 0], y[signs < 0]).ravel() / 2
    effect = float(np.median(both if len(both) else y * signs))
    left = y - effect * signs
    order = float(np.median(left))
    return effect, order, (left - order) * math.sqrt(len(y) / max(1, len(y) - 2))


def _continued(
    family: Sequence[PairSeries], pairs: int, effect: float | None, *, is_known: bool = True
) -> Iterator[list[PairSeries]]:
    """Continuations up to so many pairs of the series that show a scatter, with an effect (None: the one seen; not
    known: any near it), and with pairs that scatter as those so far do. Series of equal draws share their coins."""
    measured = [(series, *_seen(series)) for series in family if _have(series) >= _FEWEST]
    rng = np.random.default_rng(len(family[0].y))
    for _ in range(_TRIALS):
        coins: dict[tuple[int, int], NDArray[np.int64]] = {}
        found = []
        for series, seen, order, left in measured:
            more = max(0, pairs - len(series.y))
            error = 0.0 if is_known else float(np.std(left)) / math.sqrt(max(1, len(left) - 2)) * rng.normal()
            true = (seen if effect is None else math.copysign(effect, seen)) + error
            signs = coins.setdefault((series.draws, more), rng.choice((-1, 1), more))
            y = rng.choice(left, more) + true * signs + order
            found.append(
                replace(
                    series,
                    y=(*series.y, *y.tolist()),
                    signs=(*series.signs, *signs.tolist()),
                    entries=(*series.entries, *[series.entries[-1]] * more),
                )
            )
        yield found
