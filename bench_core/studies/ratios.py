"""How much faster one path is than another, and where along an axis the order of the two changes. No JAX.

The interval of a ratio is made of the samples of one process: it says how far its calls scatter, not how far another
process would differ.
"""

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

Value = int | float
"""A sample, or a value of an axis."""

LEVEL = 0.95
"""Chance that an interval holds the ratio of the true medians, at the least."""

ENOUGH = 7
"""Samples of each side that an interval takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """`value`: median over median. `low` and `high` are None where the samples are too few for an interval."""

    value: Value
    low: Value | None = None
    high: Value | None = None

    @property
    def side(self) -> int:
        """1 above one, -1 below one; 0 where the interval holds one, or where there is none."""
        if self.low is None or self.high is None:
            return 0
        return (self.low > 1) - (self.high < 1)

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.value:.3g}"
        return f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"


def ratio(numerator: Sequence[Value], denominator: Sequence[Value]) -> Ratio:
    """The ratio of two medians, with an interval that needs 7 samples of each side.

    Each median has its interval between two of its order statistics, which holds for every continuous distribution
    (David and Nagaraja, Order Statistics, 3rd ed., section 7.1). Each may miss with half of what `LEVEL` leaves, so
    that both hold together, whether the sides are independent or not.

    Args:
        numerator: positive samples.
        denominator: likewise, in the same unit.

    Raises:
        ValueError: a side has no samples, or one that is not positive.
    """
    for samples in (numerator, denominator):
        if not samples or min(samples) <= 0:
            raise ValueError("a ratio of medians needs positive samples on both sides")
    value = statistics.median(numerator) / statistics.median(denominator)
    above, below = _median_interval(numerator), _median_interval(denominator)
    if above is None or below is None:
        return Ratio(value=value)
    return Ratio(value=value, low=above[0] / below[1], high=above[1] / below[0])


def _median_interval(samples: Sequence[Value]) -> tuple[Value, Value] | None:
    """The k-th smallest and the k-th largest sample, with the largest k that misses seldom enough."""
    count, ordered = len(samples), sorted(samples)
    allowed = (1 - LEVEL) / 2
    # The interval misses on one side when fewer than k samples lie there: a coin's tosses.
    missed = itertools.accumulate(2 * math.comb(count, below) / 2**count for below in range(count // 2))
    ranks = sum(chance <= allowed for chance in missed)
    return (ordered[ranks - 1], ordered[count - ranks]) if ranks else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """Where the order of two paths changes along an axis.

    `changes`: pairs of values between which it does, for certain. `by_medians`: the same without regard to intervals.
    `undecided`: values at which the interval holds one, or is missing. `side`: that of all decided values, 0 where they
    differ or where there is none.
    """

    changes: tuple[tuple[Value, Value], ...] = ()
    by_medians: tuple[tuple[Value, Value], ...] = ()
    undecided: tuple[Value, ...] = ()
    side: int = 0

    def text(self, axis: str, numerator: str, denominator: str) -> str:
        """One sentence, with the names of the axis and of the two sides of the ratio."""
        said = [f"the order changes between {axis} {low:g} and {high:g}" for low, high in self.changes]
        if not self.undecided:
            if said:
                return "; ".join(said)
            faster = numerator if self.side > 0 else denominator
            return f"{faster} is faster at every {axis}"
        values = ", ".join(f"{value:g}" for value in self.undecided)
        said.append(f"undecided at {axis} {values}")
        if self.by_medians != self.changes:
            medians = ", ".join(f"between {low:g} and {high:g}" for low, high in self.by_medians) or "nowhere"
            said.append(f"by the medians alone it changes {medians}")
        return "; ".join(said)


def crossing(points: Sequence[tuple[Value, Ratio]]) -> Crossing:
    """Where the order changes along an axis.

    It changes between two neighbours among the values whose ratio is certainly above or certainly below one. Undecided
    values between them belong to the gap. Between two values of the same side that hold an undecided one it may change
    twice: that is why these are listed.

    Args:
        points: a value of the axis and the ratio there, in any order.

    Raises:
        ValueError: a value occurs twice, or there is none.
    """
    ordered = sorted(points, key=lambda point: point[0])
    values = [value for value, _ in ordered]
    if not values or len(set(values)) < len(values):
        raise ValueError("a crossing needs one ratio for each of some values")
    sides = [(value, one.side) for value, one in ordered]
    decided = [(value, side) for value, side in sides if side]
    changes = _changes(decided)
    medians = _changes([(value, (one.value > 1) - (one.value < 1)) for value, one in ordered if one.value != 1])
    found = {side for _, side in decided}
    return Crossing(
        changes=changes,
        by_medians=medians,
        undecided=tuple(value for value, side in sides if not side and not _within(value, changes)),
        side=found.pop() if len(found) == 1 else 0,
    )


def _changes(sides: Sequence[tuple[Value, int]]) -> tuple[tuple[Value, Value], ...]:
    return tuple((low, high) for (low, one), (high, other) in itertools.pairwise(sides) if one != other)


def _within(value: Value, gaps: Sequence[tuple[Value, Value]]) -> bool:
    return any(low < value < high for low, high in gaps)
