"""Rank tests: do two sides differ, when nothing is known of the shape of their noise?

Both are exact where there are few runs, with ties handled: every way in which the ranks could have fallen is
counted. Beyond that the normal approximation stands, corrected for ties and continuity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

from logbook_agent.model.stats.distributions import normal_tail

# Up to so many values the distribution is counted out; beyond, the approximation errs by less than 0.001 at 5%.
EXACT_UP_TO = 40


def mann_whitney(base: Sequence[float], other: Sequence[float]) -> float:
    """Two-sided p-value of "both sides have one distribution", for independent runs.

    H. B. Mann and D. R. Whitney, "On a test of whether one of two random variables is stochastically larger than
    the other", Annals of Mathematical Statistics 18 (1947); ties share the mean of their ranks. No NaN.
    """
    if not base or not other:
        raise ValueError("a side without runs cannot be tested")
    ranks = doubled_ranks([*base, *other])
    total = sum(ranks[: len(base)])
    if len(ranks) <= EXACT_UP_TO:
        return _exact_sum(tuple(sorted(ranks)), len(base))[total]
    n, m, size = len(base), len(other), len(ranks)
    variance = n * m / 12 * (size + 1 - _ties(ranks) / (size * (size - 1)))
    return _approximate(total / 2 - n * (size + 1) / 2, variance)


def signed_rank(differences: Sequence[float]) -> float:
    """Two-sided p-value of "the differences of pairs are symmetric about zero".

    F. Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1 (1945). Differences of zero are
    ranked and then carry no sign: J. W. Pratt, "Remarks on zeros and ties in the Wilcoxon signed rank procedures",
    JASA 54 (1959). No NaN.
    """
    if not differences:
        raise ValueError("no pairs: nothing can be tested")
    ranks = doubled_ranks([abs(x) for x in differences])
    counted = [r for r, x in zip(ranks, differences, strict=True) if x]
    above = sum(r for r, x in zip(ranks, differences, strict=True) if x > 0)
    if not counted:
        return 1.0
    if len(counted) <= EXACT_UP_TO:
        return _exact_signs(tuple(sorted(counted)))[above]
    # The variance of a sum of independent signs: a quarter of the squares of what they carry.
    return _approximate((above - sum(counted) / 2) / 2, sum(r * r for r in counted) / 16)


def smallest_p_unpaired(base_runs: int, other_runs: int) -> float:
    """The p-value of the clearest outcome: all runs of one side above all of the other."""
    return min(1.0, 2 / math.comb(base_runs + other_runs, base_runs))


def smallest_p_paired(pairs: int) -> float:
    """The p-value of the clearest outcome: all pairs differ the same way."""
    return min(1.0, 2.0 ** (1 - pairs))


def missing_unpaired(base_runs: int, other_runs: int, alpha: float) -> int:
    """How many more runs each side needs before a p-value of `alpha` is possible at all."""
    return _missing(lambda more: smallest_p_unpaired(base_runs + more, other_runs + more), alpha)


def missing_paired(pairs: int, alpha: float) -> int:
    """How many more pairs are needed before a p-value of `alpha` is possible at all."""
    return _missing(lambda more: smallest_p_paired(pairs + more), alpha)


def _missing(smallest: Callable[[int], float], alpha: float) -> int:
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is between 0 and 1, not {alpha}")
    more = 0
    while smallest(more) > alpha:
        more += 1
    return more


def doubled_ranks(values: Sequence[float]) -> list[int]:
    """Twice the rank of each value from 1 on, so that the mean rank of ties is a whole number too."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0] * len(values)
    first = 0
    while first < len(order):
        last = first
        while last + 1 < len(order) and values[order[last + 1]] == values[order[first]]:
            last += 1
        for place in order[first : last + 1]:
            ranks[place] = first + last + 2
        first = last + 1
    return ranks


def _ties(ranks: Sequence[int]) -> int:
    """The sum of t^3 - t over groups of t equal ranks."""
    counts: dict[int, int] = {}
    for rank in ranks:
        counts[rank] = counts.get(rank, 0) + 1
    return sum(t**3 - t for t in counts.values())


def _approximate(distance: float, variance: float) -> float:
    """Of a rank sum so far from its expectation, with a correction for continuity of half a rank."""
    if variance <= 0:
        return 1.0
    return min(1.0, 2 * normal_tail(max(0.0, abs(distance) - 0.5) / math.sqrt(variance)))


@lru_cache(maxsize=512)
def _exact_sum(ranks: tuple[int, ...], chosen: int) -> tuple[float, ...]:
    """For each sum: the p-value when `chosen` of the ranks are drawn and have that sum.

    The counts of all sums are the coefficients of a polynomial, kept side by side in one long integer: adding a
    rank is then one shift and one addition instead of a loop.
    """
    bits = 8 * ((len(ranks) + 7) // 8)  # no count reaches 2 ** len(ranks) with bits to spare
    ways = [1] + [0] * chosen
    for rank in ranks:
        for k in range(chosen, 0, -1):
            ways[k] += ways[k - 1] << (bits * rank)
    return _two_sided(_coefficients(ways[chosen], bits, sum(ranks)), chosen * sum(ranks) / len(ranks))


@lru_cache(maxsize=512)
def _exact_signs(ranks: tuple[int, ...]) -> tuple[float, ...]:
    """For each sum: the p-value when each rank counts or not, as a coin falls, and the sum is that."""
    bits = 8 * (len(ranks) // 8 + 1)
    ways = 1
    for rank in ranks:
        ways += ways << (bits * rank)
    return _two_sided(_coefficients(ways, bits, sum(ranks)), sum(ranks) / 2)


def _coefficients(packed: int, bits: int, largest: int) -> list[int]:
    width = bits // 8
    raw = packed.to_bytes(width * (largest + 1), "little")
    return [int.from_bytes(raw[i : i + width], "little") for i in range(0, len(raw), width)]


def _two_sided(counts: Sequence[int], centre: float) -> tuple[float, ...]:
    """For each sum the part of all outcomes that lie at least as far from the centre."""
    by_distance: dict[float, int] = {}
    for place, count in enumerate(counts):
        distance = abs(place - centre)
        by_distance[distance] = by_distance.get(distance, 0) + count
    total, reached, found = sum(counts), 0, {}
    for distance in sorted(by_distance, reverse=True):
        reached += by_distance[distance]
        found[distance] = reached / total
    return tuple(found[abs(place - centre)] for place in range(len(counts)))
