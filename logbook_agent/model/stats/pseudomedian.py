"""The centre of symmetric noise and its interval, from the means of pairs of values (Walsh averages).

The pseudomedian is the median of the means of all pairs of values, each with itself included; of symmetric values it is
the median. J. L. Hodges and E. L. Lehmann, "Estimates of location based on rank tests", Annals of Mathematical
Statistics 34 (1963). The interval holds every shift that `ranks.signed_rank` would not reject: M. Hollander, D. A.
Wolfe and E. Chicken, Nonparametric Statistical Methods (2014), 3.3.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

from logbook_agent.model.stats.distributions import normal_quantile_above

# Up to so many values all means are written down, and the null distribution is counted out.
_WRITTEN_UP_TO = 60


def pseudomedian(values: Sequence[float]) -> float:
    """The Hodges-Lehmann estimate of one value or more. No NaN."""
    means = len(values) * (len(values) + 1) // 2
    low, high = _kth(values, (means + 1) // 2), _kth(values, means // 2 + 1)
    return (low + high) / 2


def interval_of_pseudomedian(values: Sequence[float], level: float) -> tuple[float, float]:
    """From the lowest to the highest shift that the signed-rank test at 1 - level does not reject. Of so few values
    that it could reject nothing, the lowest and the highest value."""
    size = len(values)
    means = size * (size + 1) // 2
    at = max(1, _critical(size, (1 - level) / 2))
    return _kth(values, at), _kth(values, means + 1 - at)


@lru_cache(maxsize=512)
def _critical(size: int, tail: float) -> int:
    """The largest k with P(rank sum < k) <= tail, by the normal approximation where there are many values."""
    if size > _WRITTEN_UP_TO:
        mean, spread = size * (size + 1) / 4, math.sqrt(size * (size + 1) * (2 * size + 1) / 24)
        return math.floor(mean - normal_quantile_above(tail) * spread + 0.5)
    reached, limit = 0, tail * 2**size
    for k, count in enumerate(_ways(size)):
        reached += count
        if reached > limit:
            return k
    raise AssertionError("the tail is at most a half")


def _kth(values: Sequence[float], k: int) -> float:
    """The k-th smallest (from 1) of the means of pairs of values, each with itself included."""
    ordered = sorted(values)
    if len(ordered) <= _WRITTEN_UP_TO:
        return _means(tuple(ordered))[k - 1]
    low, high = ordered[0], ordered[-1]
    for _ in range(100):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if _up_to(ordered, middle) >= k else (middle, high)
    return high


@lru_cache(maxsize=4)
def _means(ordered: tuple[float, ...]) -> list[float]:
    return sorted((a + b) / 2 for at, a in enumerate(ordered) for b in ordered[at:])


def _up_to(ordered: Sequence[float], limit: float) -> int:
    """How many means of pairs are no larger than a limit."""
    return sum(max(0, bisect_right(ordered, 2 * limit - value) - at) for at, value in enumerate(ordered))


def central_spread(values: Sequence[float]) -> float:
    """What stands for a standard deviation: the width of the 80% interval of the pseudomedian tells how far values
    scatter about it, and few far ones do not change it much. Of three values or more."""
    size = len(values)
    at, tail = _central(size)
    means = size * (size + 1) // 2
    half = (_kth(values, means + 1 - at) - _kth(values, at)) / 2
    return half / normal_quantile_above(tail) * math.sqrt(size * 3 / math.pi)


@lru_cache(maxsize=512)
def _central(size: int) -> tuple[int, float]:
    """Which means bound the interval that is nearest to 80%, and the tail that lies beyond each of them."""
    at = max(1, _critical(size, 0.1))
    if size > _WRITTEN_UP_TO:
        return at, 0.1
    return at, sum(_ways(size)[:at]) / 2**size


@lru_cache(maxsize=64)
def _ways(size: int) -> list[int]:
    """In how many ways a coin for each of the ranks 1 to `size` gives each rank sum."""
    ways = [1]
    for rank in range(1, size + 1):
        longer = ways + [0] * rank
        for at, count in enumerate(ways):
            longer[at + rank] += count
        ways = longer
    return ways
