"""How a value that is measured comes to be reported: clocks and printed digits for benchmarks/calibration.py."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from machines import Logs
from numpy.random import Generator

Clock = Callable[[Generator, Logs], Logs]


def printed(digits: int) -> Clock:
    """Values from 1 to 4 with so many digits."""
    return lambda rng, values: np.round(values, digits - 1)


def ticking(tick: float) -> Clock:
    """The whole ticks that have passed, as a float that shows no digits of the tick."""
    return lambda rng, values: np.floor(values / tick) * tick


def polled(every: float, *, jitter: float) -> Clock:
    """The end is seen at the next poll, which comes a little late: by a random part of the interval up to `jitter`."""

    def clock(rng: Generator, values: Logs) -> Logs:
        return (np.ceil(values / every) + jitter * rng.random(values.shape)) * every

    return clock


CLOCKS: dict[str, Clock] = {
    "two digits": printed(2),
    "three digits": printed(3),
    "ticks of 1/64": ticking(1 / 64),
    "ticks of 1/7": ticking(1 / 7),
    "polls of 0.1, 1% late": polled(0.1, jitter=0.01),
}
