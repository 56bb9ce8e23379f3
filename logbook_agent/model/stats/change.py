"""Whether the level of a series changed on the way: one step, of which nothing else is assumed.

A. N. Pettitt, "A non-parametric approach to the change-point problem", Applied Statistics 28 (1979): of all splits of
the series that one counts at which the ranks before and after lie furthest apart. Choosing it is part of the test. A
slow drift and noise that remembers (a busy machine) change the level as well, and it speaks of them.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from logbook_agent.model.stats.summary import median

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


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelChange:
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
