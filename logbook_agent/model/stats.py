"""Statistics of samples and runs, in plain Python: one number for many samples, the spread of runs, and steps in a
series."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from msgspec import Struct


def median(samples: Sequence[float]) -> float:
    """The middle sample, or the mean of the two middle ones; NaN when one is NaN. No samples is a ValueError.

    As `statistics.median`, whose import takes 10 ms: too much for every command that shows a number.
    """
    if not samples:
        raise ValueError("no samples: the median of nothing is unknown")
    if len(samples) == 1:
        return samples[0]
    if any(map(math.isnan, samples)):
        return math.nan
    return middle_of(sorted(samples))


def middle_of(ordered: Sequence[float]) -> float:
    """The median of numbers that are sorted."""
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    low, high = ordered[middle - 1], ordered[middle]
    # Of two very large numbers there is no sum.
    return (low + high) / 2 if math.isfinite(low + high) or not math.isfinite(low - high) else low / 2 + high / 2


def mean(samples: Sequence[float]) -> float:
    """The arithmetic mean, summed without rounding on the way. No samples is a ValueError."""
    if not samples:
        raise ValueError("no samples: the mean of nothing is unknown")
    # Divided first: the sum of large numbers may be none.
    return math.fsum(x / len(samples) for x in samples)


def standard_deviation(samples: Sequence[float]) -> float:
    """The standard deviation of a sample, with n - 1. Fewer than two samples is a ValueError."""
    if len(samples) < 2:
        raise ValueError(f"{len(samples)} samples: a standard deviation needs two")
    middle = mean(samples)
    return math.hypot(*(x - middle for x in samples)) / math.sqrt(len(samples) - 1)


# -- how far runs of one configuration lie apart -----------------------------------------------------------


def noise_floor(runs: Sequence[Sequence[float]]) -> float | None:
    """The relative spread of the medians of runs: 0.01 says that runs scatter by 1%.

    It is the standard deviation of their logarithms, which is the coefficient of variation when small. Not the MAD:
    it would hide the one run in ten that is slow, which is noise too. None with fewer than two runs, and where
    a median is not positive and finite: nothing is known then.
    """
    medians = [median(run) for run in runs if run]
    if len(medians) < 2 or not all(math.isfinite(m) and m > 0 for m in medians):
        return None
    return standard_deviation([math.log(m) for m in medians])


# -- one step in a series ----------------------------------------------------------------------------------

# A. N. Pettitt, "A non-parametric approach to the change-point problem", Applied Statistics 28 (1979): of all splits of
# the series that one counts at which the ranks before and after lie furthest apart. Choosing it is part of the test. A
# slow drift and noise that remembers (a busy machine) change the level as well, and it speaks of them.

# Of series without a change it speaks of at most one in a hundred.
ALPHA = 0.01
FEWEST_RUNS = 8
# The least K that at most 1% of 200,000 random orders of 10 to 40 ranks reach (none of 8 or 9 can be that clear).
# Beyond, Pettitt's approximation stands, which errs on the side of silence: 0.4% of the orders of 40, 0.8% of 200.
_FIRST = 10
_LEAST = (
    *(25, 30, 34, 40, 44, 50, 54, 60, 65, 72, 76, 84, 89, 96, 102, 108),
    *(115, 122, 129, 138, 143, 152, 159, 168, 174, 184, 191, 200, 207, 216, 223),
)


class LevelChange(Struct, frozen=True, kw_only=True):
    """A step after the first `count` values: their median, and that of the others."""

    count: int
    before: float
    after: float


def level_change(values: Sequence[float]) -> LevelChange | None:
    """The step in a series in the order it was taken; None where chance would do, or the values are too few. No NaN."""
    size = len(values)
    if size < FEWEST_RUNS:
        return None
    # Ties share the mean of their ranks, which makes every split less clear.
    sums = itertools.accumulate(_doubled_ranks(values))
    distances = [abs(total - count * (size + 1)) for count, total in enumerate(sums, start=1)]
    furthest = max(distances)
    if furthest < _least(size):
        return None
    count = distances.index(furthest) + 1
    return LevelChange(count=count, before=median(values[:count]), after=median(values[count:]))


def _doubled_ranks(values: Sequence[float]) -> list[int]:
    """Twice the rank of each value from 1 on, so that the mean rank of ties is a whole number too."""
    ordered = sorted(values)
    return [bisect_left(ordered, value) + bisect_right(ordered, value) + 1 for value in values]


def _least(size: int) -> float:
    if size < _FIRST:
        return math.inf
    if size - _FIRST < len(_LEAST):
        return _LEAST[size - _FIRST]
    return math.sqrt(-math.log(ALPHA / 2) * (size**3 + size**2) / 6)
