"""How far runs of one and the same configuration lie apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

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


class Floor(NamedTuple):
    """A relative spread, and on how many degrees of freedom its estimate rests."""

    part: float
    freedom: int


def pooled_floor(floors: Sequence[tuple[float, int]]) -> Floor | None:
    """One floor for several configurations, from their (floor, runs): the root of the mean of squares, each with the
    weight of its degrees of freedom. None when no configuration has two runs."""
    counted = [(floor, runs - 1) for floor, runs in floors if runs > 1]
    if not counted:
        return None
    freedom = sum(free for _, free in counted)
    return Floor(math.sqrt(math.fsum(f * f * free for f, free in counted) / freedom), freedom)
