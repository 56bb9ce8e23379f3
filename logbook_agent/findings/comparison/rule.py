"""The rule of a comparison: is a side better or worse than its base, by how much, or is there no difference?

Runs are made in pairs, one of each side, and pairs in blocks of ten: in five pairs of a block, drawn at random, the
side runs second, in the other five first. Each of the five is compared with each of the other five: 25 comparisons.
If both sides are the same code, the draw changes nothing that is measured: whatever the noise was, it met each of the
252 possible draws with the same chance. So the number of comparisons that favour the side has a known distribution,
that of Mann and Whitney (for this design: Koch, 1972). A difference is claimed if it reaches the minimum effect, and 24
of 25 agree after one block, 40 of 50 after two, 59 of 75 after three ... (more, where several series share the 5%). The
same code passes any of these limits, on whatever day the blocks are made, in less than 5% of cases. The estimate is the
median of the compared differences (Hodges, Lehmann). The interval holds the effects that are not rejected; "no
difference" rejects the minimum effect, up and down, one-sided: of an effect that is surely not zero, too, if it surely
is smaller. What neither claims is open until the next block; the first look that settles it stands.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from logbook_agent.model.comparison import BLOCK_PAIRS, FEWEST_PAIRS
from logbook_agent.model.stats import median, middle_of

if TYPE_CHECKING:
    from statistics import NormalDist

LEVEL = 0.95
# Readings that lie closer to each other, relative to their size, are one reading of the clock.
_ONE_READING = 1e-5
# The chance with which a forecast number of pairs settles an effect.
_POWER = 0.8


class Pair(NamedTuple):
    """`y`: log later - log earlier, or None without a ratio. `sign`: 1 if the side ran second, -1 if the base did.
    `block`: the number of its block."""

    y: float | None
    sign: int
    block: int


class Judged(NamedTuple):
    """Logs of side / base at the look that settled it, else at the last one, after so many `pairs` with a ratio;
    `needed` pairs in all would probably settle an open one (infinity: no number would). `more` and `less`: the side is
    above or below its base, of which `judgement` makes better and worse by the direction of the metric."""

    outcome: Literal["open", "more", "less", "same"] = "open"
    estimate: float | None = None
    low: float = -math.inf
    high: float = math.inf
    pairs: int = 0
    needed: float = 10


def step_of(readings: Sequence[float]) -> float:
    """How coarse the clock of some readings above zero may be: the least distance between two of them, relative to the
    least of all; infinite where all are one."""
    ordered = sorted(readings)
    gaps = (b - a for a, b in itertools.pairwise(ordered) if b - a > _ONE_READING * b)
    return min(gaps, default=math.inf) / ordered[0] if ordered else math.inf


def judge(
    series: Mapping[str, Sequence[Pair]],
    *,
    minimum: float,
    steps: Mapping[str, Sequence[float]],
    looks: bool = True,
    share: int = 0,
) -> dict[str, Judged]:
    """Judge series (a metric of a side and a case), which share the 5%, or the `share`-th part of which each has: after
    each block, or without `looks` only after the last one. `minimum` is the least effect that matters, a fraction;
    `steps` are those of the clocks, as the pairs up to the end of each block show them."""
    level, bound = (1 - LEVEL) / max(1, share or len(series)), math.log1p(minimum)
    return {name: _judged(pairs, bound, steps.get(name, ()), level, looks) for name, pairs in series.items()}


def _judged(pairs: Sequence[Pair], bound: float, steps: Sequence[float], level: float, looks: bool) -> Judged:
    blocks: dict[int, tuple[list[float], list[float]]] = {}
    for y, sign, block in pairs:
        if y is not None:
            blocks.setdefault(block, ([], []))[sign < 0].append(y)
    sizes = tuple((len(second), len(first)) for second, first in blocks.values())
    done = list(itertools.accumulate(map(sum, sizes)))
    # The part of the 5% that looks may spend: half by 10 pairs, 87% by 20, all by 100.
    spent = tuple(level * (min(n / 20, 0.76 + 0.024 * n**0.5, 1) if looks else n == done[-1]) for n in done)
    found, halves = Judged(), list[float]()
    for at, (second, first) in enumerate(blocks.values()):
        halves = sorted(halves + [(a - b) / 2 for a in second for b in first])
        estimate, step = middle_of(halves) if halves else 0.0, steps[at] if steps else 0.0
        low, high = _ends(halves, _limits(sizes, spent, sided=2)[at], step)
        needed = _needed(halves, estimate, bound, step, level, done[at]) if halves else done[at] + 10
        found = Judged("open", estimate if halves else None, low, high, done[at], needed)
        if abs(estimate) >= bound and (low > 0 or high < 0):
            return found._replace(outcome="more" if low > 0 else "less")
        inner = _ends(halves, _limits(sizes, spent, sided=1)[at], step)
        if -bound < inner[0] and inner[1] < bound:
            return found._replace(outcome="same", low=max(low, -bound), high=min(high, bound))
    return found


def estimate_of(pairs: Sequence[Pair]) -> float | None:
    """The log of side / base over all pairs, finished or not; None without a ratio."""
    there = [pair for pair in pairs if pair.y is not None]
    second, first = ([pair.y or 0.0 for pair in there if pair.sign == sign] for sign in (1, -1))
    halves = [(a - b) / 2 for a in second for b in first]
    return median(halves or [pair.sign * (pair.y or 0.0) for pair in there]) if there else None


def _ends(halves: Sequence[float], limit: int, step: float) -> tuple[float, float]:
    """The effects that so many comparisons against them do not reject, widened by the step of the clock."""
    return (halves[limit] - step, halves[-1 - limit] + step) if limit >= 0 else (-math.inf, math.inf)


# -- forecasts -----------------------------------------------------------------------------------------


def _needed(halves: Sequence[float], estimate: float, bound: float, step: float, level: float, done: int) -> float:
    # What the step of the clock leaves of it; more pairs do not make the clock finer.
    distance = (abs(estimate) if abs(estimate) >= bound else bound - abs(estimate)) - step
    errors = (_normal().inv_cdf(1 - level / 10) + _normal().inv_cdf(_POWER)) * _scatter(halves, estimate)
    # Nobody makes a million pairs; the square of a larger number may be none.
    if errors >= 1_000 * distance:
        return math.inf if errors or distance <= 0 else done + 10
    return max(done + 10, 10 * math.ceil((errors / distance) ** 2 / 10))


def _scatter(halves: Sequence[float], estimate: float) -> float:
    return math.sqrt(2) * 1.4826 * median([abs(half - estimate) for half in halves or (0.0,)])


def scatter_of(pairs: Sequence[Pair]) -> float:
    """By how much pairs scatter, as a logarithm: `effect * sqrt(n) / scatter` is how many standard errors an effect
    lies away from none after n pairs."""
    second, first = ([pair.y for pair in pairs if pair.y is not None and pair.sign == sign] for sign in (1, -1))
    halves = [(a - b) / 2 for a in second for b in first]
    return _scatter(halves, median(halves or [0.0]))


def chance_of(effect: float, scatter: float, *, minimum: float, pairs: int, series: int = 1) -> float:
    """About how often so many pairs that scatter so much settle an effect rightly. All are logs, of which 0 means that
    there is none; `series` share the 5%. (Agrees with simulations of the rule to a tenth.)"""
    errors = math.sqrt(pairs) / scatter if scatter else math.inf
    level = (1 - LEVEL) / series
    if abs(effect) < minimum:
        inside = (minimum - abs(effect)) * errors - _normal().inv_cdf(1 - level / 4)
        return max(0.0, 2 * _normal().cdf(inside) - 1)
    beyond = (abs(effect) - minimum) * errors if abs(effect) > minimum else 0.0
    claimed = abs(effect) * errors - _normal().inv_cdf(1 - level / 10)
    return min(_normal().cdf(claimed), _normal().cdf(beyond))


def _normal() -> NormalDist:
    from statistics import NormalDist  # takes 10 ms

    return NormalDist()


def fewest_pairs(series: int = 1) -> int:
    """How many pairs one look needs to settle anything of so many series: with fewer, chance makes all comparisons
    agree too often."""
    return next(n for n in itertools.count(FEWEST_PAIRS, 2) if 2 / _draws(n) <= (1 - LEVEL) / series)


def _draws(pairs: int) -> int:
    blocks, rest = divmod(pairs, BLOCK_PAIRS)
    return math.prod([math.comb(BLOCK_PAIRS, BLOCK_PAIRS // 2)] * blocks) * math.comb(rest, rest // 2)


# -- the distribution ----------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def _limits(sizes: tuple[tuple[int, int], ...], spent: tuple[float, ...], sided: int) -> list[int]:
    """So many comparisons against an effect reject it after each block (-1: none do). What an earlier look rejected is
    taken out of the later ones."""
    chances, limits, gone = [1.0], [], 0.0
    for (p, q), most in zip(sizes, spent, strict=True):
        before, chances = chances, [0.0] * (len(chances) + p * q)
        for u, chance in enumerate(_mann_whitney(p, q)):
            for at, other in enumerate(before):
                chances[at + u] += chance * other
        limit = -1
        while 2 * limit + 3 < len(chances) and gone + sided * chances[limit + 1] <= most * (1 + 1e-9):
            limit += 1
            gone += sided * chances[limit]
            chances[limit], chances[-1 - limit] = 0.0, chances[-1 - limit] * (sided == 1)
        limits.append(limit)
    return limits


@lru_cache(maxsize=1024)
def _mann_whitney(p: int, q: int) -> list[float]:
    """The chances that 0, 1, ... p*q of the comparisons of p values with q favour the p, if all are alike."""
    if not p or not q:
        return [1.0]
    found = [0.0] * (p * q + 1)
    for chances, shift, of in ((_mann_whitney(p - 1, q), q, p), (_mann_whitney(p, q - 1), 0, q)):
        for u, chance in enumerate(chances):
            found[u + shift] += chance * of / (p + q)
    return found
