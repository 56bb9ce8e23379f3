"""Statistics of samples and runs, in plain Python: one number for many samples, and the spread of runs."""

from __future__ import annotations

import math
from collections.abc import Sequence


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
