"""The step in which values are printed: what is printed as 0.10 may be 0.096 or 0.104."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from logbook_agent.model.stats import median

# A number of so many digits was printed in full.
_FULL_DIGITS = 12


def step_of(values: Sequence[float]) -> float:
    """The last digit that any of the values has, relative to their size; 0 where they are printed in full."""
    size = median([abs(value) for value in values]) if values else 0.0
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
