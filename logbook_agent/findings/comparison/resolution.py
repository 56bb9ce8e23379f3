"""The step in which values are reported: what is printed as 0.10 may be 0.096 or 0.104; clocks tick or poll."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from decimal import Decimal

from logbook_agent.model.stats import median

# A number of so many digits was printed in full.
_FULL_DIGITS = 12
# Readings of one tick lie this close to each other, relative to their size. A clock that polls sees the end late, and
# its readings stray more. They show a tick where the readings lie so many times further apart, and a quarter of them is
# elsewhere than most, so that no slow run is taken for a tick.
_JITTER, _POLLED_JITTER = 1e-5, 1e-3
_APART, _ELSEWHERE = 20, 4


def step_of(base: Sequence[float], other: Sequence[float], *, is_timed: bool) -> float:
    """The step of the values of two sides, relative to their size; 0 where they show none.

    It is the last digit that they are printed with, or the tick between the few readings of one side that come up again
    and again. If each side of a timed metric always reads the same, the tick may be as long as the sides lie apart. It
    is infinite if both read the same: nobody sees how long that tick is. Whole numbers are counts, with a step of one.
    """
    values = [*base, *other]
    size = median([abs(value) for value in values]) if values else 0.0
    if not size:
        return 0.0
    printed = _printed_step(values) / size
    ticks = [_tick(side, size) for side in (base, other)]
    if is_timed and len(values) > 2 and not any(ticks) and all(_is_one(side, size) for side in (base, other)):
        apart = max(values) - min(values)
        is_same = apart <= _JITTER * size
        if not is_same or not all(float(value).is_integer() for value in values):
            ticks = [math.inf if is_same else apart]
    return max(printed, max(ticks) / size)


def _is_one(side: Sequence[float], size: float) -> bool:
    """Whether all values of a side are one reading."""
    return not side or max(side) - min(side) <= _JITTER * size


def _tick(side: Sequence[float], size: float) -> float:
    """The least distance between readings of one side that come up again and again; 0 where there are none."""
    ordered = sorted(side)
    gaps = sorted((b - a for a, b in itertools.pairwise(ordered)), reverse=True)
    for readings in range(len(side) // 2, 1, -1):
        between, within = gaps[readings - 2], gaps[readings - 1]
        starts = [0, *(at for at in range(1, len(side)) if ordered[at] - ordered[at - 1] >= between), len(side)]
        most = max(b - a for a, b in itertools.pairwise(starts))
        is_exact = within <= _JITTER * size
        is_polled = within <= _POLLED_JITTER * size and between >= _APART * within
        is_spread = is_polled and len(side) - most >= len(side) / _ELSEWHERE
        if between > _JITTER * size and (is_exact or is_spread):
            return min(ordered[b] - ordered[a] for a, b in itertools.pairwise(starts[:-1]))
    return 0.0


def _printed_step(values: Sequence[float]) -> float:
    """The last digit that any of the values has; 0 where they are printed in full."""
    # One in full precision says that all are: most series end here.
    return min(map(_last_place, values)) if _last_place(values[0]) else 0.0


def _last_place(value: float) -> float:
    """0.01 for 0.25; 0 for a number in full precision. A whole number may have been counted: its last place is 1."""
    number = Decimal(repr(value)).normalize()
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)  # noqa: S101
    return 0.0 if len(digits) >= _FULL_DIGITS else 10.0 ** min(exponent, 0)
