"""Limits and ticks of axes."""

from __future__ import annotations

import math
from typing import Any

from logbook_agent.report.plots.texts import tick


def around(values: list[float], *, log: bool, share: float) -> tuple[float, float]:
    """Limits with some room on both sides."""
    low, high = min(values), max(values)
    if log:
        room = max((high / low) ** share, 1.08)
        return low / room, high * room
    room = share * (high - low) or max(abs(high) * 0.1, 0.5 if high == int(high) else 1e-12)
    return low - room, high + room


def whole(low: float, high: float) -> list[float]:
    """Some 10 round whole numbers from the lowest to the highest value, and none outside: there is no run 0."""
    least = (high - low) / 11
    power = 10 ** math.floor(math.log10(max(least, 1.0)))
    step = next(power * share for share in (1, 2, 5, 10) if power * share >= least)
    return [step * number for number in range(math.ceil(low / step), math.floor(high / step) + 1)]


def formatter() -> Any:
    from matplotlib.ticker import FuncFormatter

    return FuncFormatter(lambda value, _: tick(value))


def log_ticks(axis: Any, values: list[float]) -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    decades = math.log10(max(values) / min(values)) if values else 1.0
    subs = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0) if decades < 1 else (1.0, 2.0, 5.0) if decades < 3 else (1.0,)
    axis.set_major_locator(LogLocator(base=10, subs=subs, numticks=12))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(formatter())
