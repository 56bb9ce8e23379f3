"""How far runs of one and the same configuration lie apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from logbook_agent.model.stats.distributions import t_quantile_above
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


def within_noise(ratio: float, floor: Floor, base_runs: int, other_runs: int, alpha: float = 0.05) -> bool:
    """Whether two sides of one configuration come out so far apart in more than `alpha` of all comparisons.

    The medians of n and m runs of normal noise scatter by sqrt(pi / 2) * sqrt(1/n + 1/m) floors; of one or two runs a
    median is a mean, and the first root falls away. How many floors that is Student's t says, because the floor is an
    estimate, too. Such a mark is a hint for reading a table, not a test.
    """
    if ratio <= 0:
        return False
    reach = t_quantile_above(alpha / 2, floor.freedom) * floor.part
    return abs(math.log(ratio)) <= reach * math.sqrt(_of(base_runs) + _of(other_runs))


def _of(runs: int) -> float:
    """The variance of the median of so many runs whose own is 1 (asymptotic from three on)."""
    return 1 / runs if runs <= 2 else math.pi / 2 / runs
