"""One number for many samples."""

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


def median_low(samples: Sequence[float]) -> float:
    """The middle sample, of two middle ones the lower: a number that was measured. No samples is a ValueError."""
    if not samples:
        raise ValueError("no samples: the median of nothing is unknown")
    return math.nan if any(map(math.isnan, samples)) else sorted(samples)[(len(samples) - 1) // 2]


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
    """Of a sample, with n - 1 below the sum of squares. Fewer than two samples is a ValueError."""
    if len(samples) < 2:
        raise ValueError(f"{len(samples)} samples: a standard deviation needs two")
    middle = mean(samples)
    return math.hypot(*(x - middle for x in samples)) / math.sqrt(len(samples) - 1)
