"""Where values lie along an axis, linear, logarithmic or compressed towards its ends, and the round values on it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct, structs

from logbook_agent.report.figures.figure import PlotAxis

# An interval is cut where it reaches so many times as far beyond the values as they lie apart, and as most others do.
_CUT = 3.0


class ValueScale(Struct, frozen=True):
    """Values from `low` to `high`, which stand at the pixels `start` and `end`. `bend`: from this distance to zero on,
    a bent axis is logarithmic."""

    low: float
    high: float
    log: bool = False
    bend: float = 0.0
    start: float = 0.0
    end: float = 1.0

    def between(self, start: float, end: float) -> ValueScale:
        return structs.replace(self, start=start, end=end)

    @property
    def is_uneven(self) -> bool:
        """Whether equal differences have unequal lengths."""
        return self.log or bool(self.bend)

    def has(self, value: float) -> bool:
        return self.low <= value <= self.high

    def place(self, value: float) -> float:
        """The pixel of a value; beyond the ends, the end."""
        low, high, inside = map(self._along, (self.low, self.high, min(max(value, self.low), self.high)))
        return self.start + (self.end - self.start) * (inside - low) / (high - low)

    def _along(self, value: float) -> float:
        if self.log:
            return math.log10(value)
        return math.asinh(value / self.bend) if self.bend else value


def scale_of(values: Sequence[float], axis: PlotAxis, ends: Sequence[float] = ()) -> ValueScale:
    """An axis around all values and the ends of their intervals, with some room on both sides. A single interval that
    would hide the differences of all else is cut."""
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    if axis.log and low > 0:
        powers = [math.log10(end) for end in ends if end > 0]
        first, last = _around(math.log10(low), math.log10(high), powers)
        return ValueScale(10**first, 10**last, log=True)
    return ValueScale(*_around(low, high, ends), bend=axis.bend)


def _around(low: float, high: float, ends: Sequence[float]) -> tuple[float, float]:
    beyond = sorted(max(low - end, end - high, 0.0) for end in ends)
    most = _CUT * max(high - low, beyond[len(beyond) // 2] if beyond else 0.0) or math.inf
    low, high = (
        min([low, *(max(end, low - most) for end in ends)]),
        max([high, *(min(end, high + most) for end in ends)]),
    )
    room = 0.06 * (high - low) or abs(high) * 0.1 or 0.5
    return low - room, high + room


def round_values(scale: ValueScale, most: int, *, whole: bool = False) -> list[float]:
    """About so many round values within an axis, those first that are to be labelled first."""
    decades = math.log10(scale.high) - math.log10(scale.low) if scale.log else 0.0
    if scale.bend:
        steps = [float(f"{digit}e{power}") for power in range(6, -3, -1) for digit in (5, 2, 1)]
        found = [0.0, *(sign * step for step in steps for sign in (1, -1))]
    elif decades > 0.7:
        powers = range(math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high)) + 1)
        every = max(1, math.ceil(decades / most))
        digits = (1, 2, 3, 5, 7) if decades < 1.2 else (1, 2, 5) if decades < 3 else (1,)
        found = [float(f"{digit}e{power}") for power in powers if power % every == 0 for digit in digits]
    else:
        least = (scale.high - scale.low) / most
        power = 10.0 ** math.floor(math.log10(max(least, 1.0) if whole else least))
        step = next(power * share for share in (1, 2, 5, 10) if power * share >= least)
        found = [step * n for n in range(math.ceil(scale.low / step), math.floor(scale.high / step) + 1)]
    return [value for value in found if scale.has(value)]
