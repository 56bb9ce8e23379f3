"""One number (or two) for many samples.

Every function takes finite or infinite floats in any order, in any unit, and answers in that unit. No samples
is a ValueError; a NaN among them makes the answer NaN, since an order with NaN has no meaning.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The smallest and the largest sample."""

    low: float
    high: float


def median(samples: Sequence[float]) -> float:
    """The middle sample, or the mean of the two middle ones; the 0.5 quantile."""
    ordered = _ordered(samples, "median")
    if ordered is None:
        return math.nan
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return _between(ordered[middle - 1], ordered[middle], 0.5)


def quantile(samples: Sequence[float], q: float) -> float:
    """The q-quantile by linear interpolation between order statistics; ValueError unless 0 <= q <= 1.

    With x[0] <= ... <= x[n-1], h = (n - 1) * q and i = floor(h) it is x[i] + (h - i) * (x[i + 1] - x[i]):
    definition 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages", The American Statistician
    50 (1996), the default of NumPy and R.
    """
    if not 0 <= q <= 1:
        raise ValueError(f"a quantile needs 0 <= q <= 1, got {q!r}")
    ordered = _ordered(samples, "quantile")
    if ordered is None:
        return math.nan
    position = (len(ordered) - 1) * q
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return _between(ordered[below], ordered[above], position - below)


def arithmetic_mean(samples: Sequence[float]) -> float:
    """sum(x) / n, the sum without rounding error (Shewchuk's algorithm, as math.fsum has it)."""
    _some(samples, "arithmetic mean")
    if all(math.isfinite(x) for x in samples):
        return math.fsum(samples) / len(samples)
    return sum(samples) / len(samples)


def geometric_mean(samples: Sequence[float]) -> float:
    """exp(mean(log(x))), the mean for ratios; ValueError when a sample is zero or negative.

    For why normalised numbers are averaged so: Fleming and Wallace, "How not to lie with statistics: the
    correct way to summarize benchmark results", Communications of the ACM 29 (1986).
    """
    _some(samples, "geometric mean")
    if any(math.isnan(x) for x in samples):
        return math.nan
    bad = next((x for x in samples if x <= 0), None)
    if bad is not None:
        raise ValueError(f"the geometric mean needs positive samples, got {bad!r}")
    return math.exp(arithmetic_mean([math.log(x) for x in samples]))


def mad(samples: Sequence[float]) -> float:
    """The median absolute deviation from the median, not scaled to the normal distribution.

    Hampel, "The Influence Curve and its Role in Robust Estimation", JASA 69 (1974). Multiply by 1.4826 to
    estimate the standard deviation of normally distributed samples.
    """
    middle = median(samples)
    return median([abs(x - middle) for x in samples])


def spread(samples: Sequence[float]) -> Spread:
    """Smallest and largest sample."""
    ordered = _ordered(samples, "spread")
    if ordered is None:
        return Spread(low=math.nan, high=math.nan)
    return Spread(low=ordered[0], high=ordered[-1])


def _some(samples: Sequence[float], what: str) -> None:
    if not samples:
        raise ValueError(f"no samples: the {what} of nothing is unknown")


def _ordered(samples: Sequence[float], what: str) -> list[float] | None:
    """The samples sorted; None when one of them is NaN."""
    _some(samples, what)
    return None if any(math.isnan(x) for x in samples) else sorted(samples)


def _between(low: float, high: float, weight: float) -> float:
    # Equal neighbours need no arithmetic, which would make NaN of two infinities and round the rest.
    if low == high or weight == 0:
        return low
    return low * (1 - weight) + high * weight
