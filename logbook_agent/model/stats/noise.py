"""How far runs of one and the same configuration lie apart."""

from __future__ import annotations

import math
from collections.abc import Sequence

from logbook_agent.model.stats.summary import median, standard_deviation


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
