"""What a machine does to the runs of a series: noise models for benchmarks/calibration.py.

A model takes a random generator and the side of every run, a row for each round in the order in which the runs are
made. It gives the logarithm of what each run measures, in the same shape, where no side is better. Nothing here is
shared with logbook_agent.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Sides = NDArray[np.int_]
Logs = NDArray[np.float64]
Model = Callable[[Generator, Sides], Logs]


def normal(sigma: float) -> Model:
    return lambda rng, sides: rng.normal(0, sigma, sides.shape)


def student(freedom: int) -> Model:
    return lambda rng, sides: 0.01 * rng.standard_t(freedom, sides.shape)


def pareto(shape: float) -> Model:
    """Slow runs with a heavy tail: time is what is logged, so all outliers lie on one side."""
    return lambda rng, sides: np.log1p(0.01 * rng.pareto(shape, sides.shape))


def skewed(rng: Generator, sides: Sides) -> Logs:
    """Never faster than a limit, and often a little slower."""
    return rng.exponential(0.02, sides.shape)


def autoregressive(keeps: float) -> Model:
    """AR(1): each run keeps so much of the one before; 1% noise in all. 1: a random walk of 1% steps."""

    def model(rng: Generator, sides: Sides) -> Logs:
        steps = rng.normal(0, 0.01, sides.size) * (math.sqrt(1 - keeps * keeps) if keeps < 1 else 1)
        level, found = rng.normal(0, 0.01), np.empty(sides.size)
        for at, step in enumerate(steps):
            level = found[at] = keeps * level + step
        return found.reshape(sides.shape)

    return model


def phases(length: int) -> Model:
    """Phases of so many runs on average in which everything takes 1.5 times as long; 1% noise beside that."""

    def model(rng: Generator, sides: Sides) -> Logs:
        changes = np.cumsum(rng.random(sides.size) < 1 / length) + rng.integers(2)
        return (math.log(1.5) * (changes % 2)).reshape(sides.shape) + rng.normal(0, 0.01, sides.shape)

    return model


def warm_up(rng: Generator, sides: Sides) -> Logs:
    """The first runs are up to 20% slower, by less and less; 1% noise beside that."""
    return 0.2 * np.exp(-_times(sides) / 8) + rng.normal(0, 0.01, sides.shape)


def ramp(rng: Generator, sides: Sides) -> Logs:
    """Each run takes 0.5% longer than the one before it; 1% noise beside that."""
    return 0.005 * _times(sides) + rng.normal(0, 0.01, sides.shape)


def growing(rng: Generator, sides: Sides) -> Logs:
    """Noise of 0.5%, and of 5% from some run on."""
    later = _times(sides) >= rng.integers(sides.size)
    return rng.normal(0, 1, sides.shape) * np.where(later, 0.05, 0.005)


def unequal(rng: Generator, sides: Sides) -> Logs:
    """The base scatters by 1%, the others by 5%."""
    return rng.normal(0, 1, sides.shape) * np.where(sides > 0, 0.05, 0.01)


def periodic(period: int, *, jitter: bool) -> Model:
    """Every so many runs something takes 10% of the machine, from a phase that nobody knows; 1% noise beside that. With
    jitter it comes a run early or late as often as on time."""

    def model(rng: Generator, sides: Sides) -> Logs:
        hits = np.arange(rng.integers(period), sides.size + period, period)
        hits = hits + (rng.choice((-1, 0, 0, 1), len(hits)) if jitter else 0)
        return 0.1 * np.isin(_times(sides), hits) + rng.normal(0, 0.01, sides.shape)

    return model


def second_slower(rng: Generator, sides: Sides) -> Logs:
    """Every run of a round takes 5% longer than the one before it; 1% noise beside that."""
    return 0.05 * np.arange(sides.shape[1]) + rng.normal(0, 0.01, sides.shape)


def second_varies(rng: Generator, sides: Sides) -> Logs:
    """As `second_slower`, by 0 to 10%, of each round another."""
    return rng.uniform(0, 0.1, (len(sides), 1)) * np.arange(sides.shape[1]) + rng.normal(0, 0.01, sides.shape)


def two_modes(keeps: float) -> Model:
    """Each process is fast or 5% slower, and so much of them as the one before; 0.5% noise beside that."""

    def model(rng: Generator, sides: Sides) -> Logs:
        changes = np.cumsum(rng.random(sides.size) > keeps) + rng.integers(2)
        return (0.05 * (changes % 2)).reshape(sides.shape) + rng.normal(0, 0.005, sides.shape)

    return model


def rarely(part: float, log: float) -> Model:
    """So many of the runs are slower by exactly so much; 1% noise beside that."""
    return lambda rng, sides: log * (rng.random(sides.shape) < part) + rng.normal(0, 0.01, sides.shape)


def outliers(rng: Generator, sides: Sides) -> Logs:
    """One run in ten is up to twice as slow; 1% noise beside that."""
    slow = rng.random(sides.shape) < 0.1
    return slow * rng.uniform(0, math.log(2), sides.shape) + rng.normal(0, 0.01, sides.shape)


def _times(sides: Sides) -> Sides:
    return np.arange(sides.size).reshape(sides.shape)


MODELS: dict[str, Model] = {
    "normal 0.5%": normal(0.005),
    "normal 1%": normal(0.01),
    "normal 2%": normal(0.02),
    "normal 5%": normal(0.05),
    "t(2) 1%": student(2),
    "Cauchy 1%": student(1),
    "Pareto 1.2": pareto(1.2),
    "skewed 2%": skewed,
    "AR(1) 0.5": autoregressive(0.5),
    "AR(1) 0.9": autoregressive(0.9),
    "AR(1) 0.99": autoregressive(0.99),
    "random walk": autoregressive(1),
    "slow phases of 6": phases(6),
    "slow phases of 60": phases(60),
    "warm-up": warm_up,
    "ramp": ramp,
    "noise that grows": growing,
    "unequal spreads": unequal,
    **{f"every {p} runs": periodic(p, jitter=False) for p in (2, 3, 4, 5, 6, 7, 8)},
    **{f"about every {p} runs": periodic(p, jitter=True) for p in (2, 3, 4, 8)},
    "second run 5% slower": second_slower,
    "second run 0 to 10% slower": second_varies,
    "two modes": two_modes(0.5),
    "two modes that last": two_modes(0.9),
    "one in twelve at 3x": rarely(1 / 12, math.log(3)),
    "outliers": outliers,
}
