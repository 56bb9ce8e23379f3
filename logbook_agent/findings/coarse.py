"""In which step values were reported: what was printed as 0.10 may be 0.096 or 0.104."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from decimal import Decimal

from logbook_agent.model.stats import median

# So many digits a number has that was printed in full.
_FULL_DIGITS = 12


# Clocks read the same tick with so much jitter (of what they read) at most.
_JITTER = 1e-5


def step_of(values: Sequence[float]) -> float:
    """The step relative to the size of the values: the last digit that any of them has, or, where few values come up
    again and again, the smallest difference between two of them (a timer's tick). 0 where neither shows; infinity where
    one fraction is all there is: a tick, of which nobody sees how long it is."""
    size = median([abs(value) for value in values])
    if not size:
        return 0.0
    ordered = sorted(values)
    ticks = [b for a, b in itertools.pairwise([-math.inf, *ordered]) if b - a > _JITTER * size]
    if len(ticks) == 1 and len(values) > 1 and not all(float(value).is_integer() for value in values):
        return math.inf
    gap = 0.0
    if 1 < len(ticks) <= len(values) / 2:
        gap = min(b - a for a, b in itertools.pairwise(ticks))
    return max(printed_step(values), gap / size)


def printed_step(values: Sequence[float]) -> float:
    """The last digit that any of the values has, relative to their size; 0 where they are printed in full."""
    size = median([abs(value) for value in values])
    # One in full precision says that all are: most series end here.
    if not size or not _last_place(values[0]):
        return 0.0
    return min(map(_last_place, values)) / size


def _last_place(value: float) -> float:
    """0.01 for 0.25; 0 for a number in full precision. A whole number may have been counted: its last place is 1."""
    number = Decimal(repr(value)).normalize()
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)  # noqa: S101
    return 0.0 if len(digits) >= _FULL_DIGITS else 10.0 ** min(exponent, 0)
