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
    if any(math.isnan(x) for x in samples):
        return math.nan
    ordered = sorted(samples)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
