"""The bootstrap interval of a ratio of medians, counted out instead of drawn.

What a bootstrap approximates by thousands of random resamples is, for a median, a sum of binomial terms: B. Efron,
"Bootstrap methods: another look at the jackknife", Annals of Statistics 7 (1979). So there is no seed, the
same data give the same interval, and one costs less than a millisecond. What is resampled are runs, with pairs kept
together where there are pairs.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, repeat
from operator import mul

from logbook_agent.model.stats.distributions import normal_tail, t_quantile_above

# Medians that come up more rarely than this are left out: no percentile that is asked for sees them.
NEGLIGIBLE = 1e-9
# Logarithms that differ by no more than this are the same.
ROUNDING = 1e-12

Weighted = list[tuple[float, float]]


@lru_cache(maxsize=128)
def median_weights(size: int) -> tuple[tuple[int, int, float], ...]:
    """How often the median of a resample of `size` sorted values is the mean of the values i and j (from 0, i <= j)."""
    half = size // 2
    if size % 2:
        # P(median <= value i) = P(at least half + 1 of the draws are among the first i + 1 values).
        up_to = [_at_least(half + 1, size, (i + 1) / size) for i in range(size)]
        singles = [b - a for a, b in zip([0.0, *up_to], up_to, strict=False)]
        return tuple((i, i, w) for i, w in enumerate(singles) if w > NEGLIGIBLE)
    # Of an even number: `half` draws up to i, the last of them i, and `half` draws from j on, the first of them j.
    below = [((i + 1) / size) ** half - (i / size) ** half for i in range(size)]
    above = [((size - j) / size) ** half - ((size - j - 1) / size) ** half for j in range(size)]
    ways = math.comb(size, half)
    found = []
    reached_before = 0.0
    for i in range(size):
        reached = _at_least(half, size, (i + 1) / size)
        same = reached - reached_before - ways * below[i] * ((size - i - 1) / size) ** half
        reached_before = reached
        found.append((i, i, same))
        found.extend((i, j, ways * below[i] * above[j]) for j in range(i + 1, size))
    return tuple(term for term in found if term[2] > NEGLIGIBLE)


def _at_least(hits: int, draws: int, chance: float) -> float:
    """P(a binomial count reaches `hits`)."""
    return math.fsum(math.comb(draws, k) * chance**k * (1 - chance) ** (draws - k) for k in range(hits, draws + 1))


def resampled_medians(values: Sequence[float]) -> Weighted:
    """Every median that resampling the values can give, ascending, with how often it does."""
    ordered = sorted(values)
    return sorted(((ordered[i] + ordered[j]) / 2, weight) for i, j, weight in median_weights(len(ordered)))


def expanded_tail(tail: float, size: int, freedom: int) -> float:
    """The percentile that stands for `tail` when there are few values.

    Percentiles of a bootstrap are too narrow by the factor sqrt((n - 1) / n), and by that between the normal and t:
    T. C. Hesterberg, "What teachers should know about the bootstrap", The American Statistician 69 (2015).
    `freedom` is what t has: n - 1 for one sample, n + m - 2 for two.
    """
    return normal_tail(math.sqrt(size / (size - 1)) * t_quantile_above(tail, freedom))


def interval_of_median(values: Sequence[float], level: float) -> tuple[float, float]:
    """Bootstrap interval of the median of two values or more; with paired runs, of the differences of pairs."""
    tail = expanded_tail((1 - level) / 2, len(values), len(values) - 1)
    return _percentile(resampled_medians(values), tail), -_percentile(resampled_medians([-v for v in values]), tail)


def interval_of_ratio(base: Sequence[float], other: Sequence[float], level: float) -> tuple[float, float]:
    """Bootstrap interval of median(other) / median(base) of positive values; each side of two or more is resampled
    by itself."""
    tail = expanded_tail((1 - level) / 2, min(len(base), len(other)), len(base) + len(other) - 2)
    low, high = _logarithms(base), _logarithms(other)
    return math.exp(_difference(low, high, tail)), math.exp(-_difference(high, low, tail))


def _logarithms(values: Sequence[float]) -> Weighted:
    return [(math.log(value), weight) for value, weight in resampled_medians(values)]


def _percentile(weighted: Iterable[tuple[float, float]], tail: float) -> float:
    """The first value at which `tail` of all weight is reached."""
    reached, last = 0.0, math.nan
    for value, weight in weighted:
        reached, last = reached + weight, value
        if reached >= tail:
            break
    return last


def _difference(base: Weighted, other: Weighted, tail: float) -> float:
    """The percentile of other - base, both ascending and independent of each other."""
    values = [value for value, _ in other]
    reached = [0.0, *accumulate(weight for _, weight in other)]
    places, weights = [value for value, _ in base], [weight for _, weight in base]

    def up_to(difference: float) -> Iterator[int]:
        """For each place of base: how many of the other values lie so far above it, or less."""
        return map(bisect_right, repeat(values), map((difference + ROUNDING).__add__, places))

    def part_up_to(difference: float) -> float:
        # As a loop over base of weight * reached[...]: this is where all the time goes, so the loops are those of C.
        return math.fsum(map(mul, weights, map(reached.__getitem__, up_to(difference))))

    def apart(part: float) -> float:
        return _percentile(other, part) - _percentile(reversed(base), part)

    # Less than the first takes an unlikely value on one side, of which there are half a tail each; the second is
    # reached when both sides are unlikely enough, each with the root of the tail.
    low, high = apart(tail / 2), apart(math.sqrt(tail))
    if high - low <= ROUNDING or part_up_to(low) >= tail:
        return low
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (low, middle) if part_up_to(middle) >= tail else (middle, high)
    # The difference that stands there, so that equal values give an exact interval.
    return max(values[count - 1] - place for count, place in zip(up_to(high), places, strict=True) if count)
