"""How far a series of runs has come, as values that a terminal draws."""

from __future__ import annotations

from msgspec import Struct


class EffectEstimate(Struct, frozen=True, kw_only=True):
    """A change that is being measured: `change`, `low` and `high` are fractions, None where there is none yet. A change
    below `least` does not matter. `name` is what changes, `interval` the interval in words."""

    name: str
    change: float | None
    low: float | None
    high: float | None
    least: float
    outcome: str
    interval: str = ""


class SeriesProgress(Struct, frozen=True, kw_only=True):
    """`made` of `total` pairs or runs (`what`); `is_at_most`: it may end earlier. `left_s` is how long the rest would
    take, None where that is unknown. `estimates` are of a comparison; `note` says what is being done, or the best so
    far."""

    made: int
    total: int
    what: str
    is_at_most: bool = False
    left_s: float | None = None
    estimates: tuple[EffectEstimate, ...] = ()
    note: str = ""
