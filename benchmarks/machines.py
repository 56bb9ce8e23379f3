"""What a machine does to the runs of a series: noise models for benchmarks/calibration.py.

A model takes a random generator and the side of every run in the order in which the runs are made, and gives the
logarithm of what each of them measures, where no side is better. Nothing here is shared with logbook_agent.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

Model = Callable[[random.Random, Sequence[int]], list[float]]


def normal(sigma: float) -> Model:
    return lambda rng, sides: [rng.gauss(0, sigma) for _ in sides]


def student(freedom: int, scale: float) -> Model:
    def model(rng: random.Random, sides: Sequence[int]) -> list[float]:
        return [scale * rng.gauss(0, 1) / math.sqrt(rng.gammavariate(freedom / 2, 2) / freedom) for _ in sides]

    return model


def pareto(shape: float, scale: float) -> Model:
    """Slow runs with a heavy tail: time is what is logged, so all outliers lie on one side."""
    return lambda rng, sides: [math.log1p(scale * (rng.paretovariate(shape) - 1)) for _ in sides]


def autoregressive(keeps: float) -> Model:
    """AR(1): each run keeps so much of the one before; 1% noise in all."""

    def model(rng: random.Random, sides: Sequence[int]) -> list[float]:
        level, found = rng.gauss(0, 0.01), []
        for _ in sides:
            level = keeps * level + math.sqrt(1 - keeps * keeps) * rng.gauss(0, 0.01)
            found.append(level)
        return found

    return model


def phases(length: int) -> Model:
    """Phases of so many runs on average in which everything takes 1.5 times as long; 1% noise beside that."""

    def model(rng: random.Random, sides: Sequence[int]) -> list[float]:
        slow, found = rng.random() < 0.5, []
        for _ in sides:
            if rng.random() < 1 / length:
                slow = not slow
            found.append(math.log(1.5) * slow + rng.gauss(0, 0.01))
        return found

    return model


def warm_up(rng: random.Random, sides: Sequence[int]) -> list[float]:
    """The first runs are up to 20% slower, by less and less; 1% noise beside that."""
    return [0.2 * math.exp(-at / 8) + rng.gauss(0, 0.01) for at in range(len(sides))]


def ramp(rng: random.Random, sides: Sequence[int]) -> list[float]:
    """Each run comes out 0.5% higher than the one before it; 1% noise beside that."""
    return [0.005 * at + rng.gauss(0, 0.01) for at in range(len(sides))]


def unequal(rng: random.Random, sides: Sequence[int]) -> list[float]:
    """One side scatters by 1%, the others by 5%."""
    return [rng.gauss(0, 0.05 if side else 0.01) for side in sides]


def periodic(period: int, *, jitter: bool) -> Model:
    """Every so many runs something takes 10% of the machine, from a phase that nobody knows; 1% noise beside that. With
    jitter it comes a run early or late as often as on time."""

    def model(rng: random.Random, sides: Sequence[int]) -> list[float]:
        phase = rng.randrange(period)
        hit = set()
        for at in range(phase, len(sides) + period, period):
            hit.add(at + (rng.choice((-1, 0, 0, 1)) if jitter else 0))
        return [0.1 * (at in hit) + rng.gauss(0, 0.01) for at in range(len(sides))]

    return model


MODELS: dict[str, Model] = {
    "normal 1%": normal(0.01),
    "normal 5%": normal(0.05),
    "t(2) 1%": student(2, 0.01),
    "Pareto 1.2": pareto(1.2, 0.01),
    "AR(1) 0.5": autoregressive(0.5),
    "AR(1) 0.9": autoregressive(0.9),
    "AR(1) 0.99": autoregressive(0.99),
    "slow phases of 6": phases(6),
    "slow phases of 60": phases(60),
    "warm-up": warm_up,
    "ramp": ramp,
    "unequal spreads": unequal,
    **{f"every {p} runs": periodic(p, jitter=False) for p in (2, 3, 4, 8)},
    **{f"about every {p} runs": periodic(p, jitter=True) for p in (2, 3, 4, 8)},
}
