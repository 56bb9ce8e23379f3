"""The normal and Student's t distribution, without SciPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache


def normal_tail(z: float) -> float:
    """P(Z > z) of a standard normal Z: half the complementary error function at z / sqrt(2)."""
    return 0.5 * math.erfc(z / math.sqrt(2))


def t_tail(t: float, freedom: int) -> float:
    """P(T > t), t >= 0, of Student's t with a whole number of degrees of freedom.

    The finite sums of Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 26.7.3 (odd) and
    26.7.4 (even), for A(t | freedom) = 1 - 2 P(T > t).
    """
    angle = math.atan(t / math.sqrt(freedom))
    cosine2 = math.cos(angle) ** 2
    odd = freedom % 2
    term = math.sin(angle) * (math.cos(angle) if odd else 1.0)
    total = 0.0
    # Terms of the sum: 1, 2/3 c^2, 2*4/(3*5) c^4, ... when odd; 1, 1/2 c^2, 1*3/(2*4) c^4, ... when even.
    for k in range((freedom - 1) // 2 if odd else freedom // 2):
        total += term
        term *= cosine2 * (2 * k + 1 + odd) / (2 * k + 2 + odd)
    inside = 2 / math.pi * (angle + total) if odd else total
    return 0.5 * (1 - inside)


@lru_cache(maxsize=256)
def normal_quantile_above(tail: float) -> float:
    """The z with P(Z > z) = tail, 0 < tail <= 1/2."""
    return _where(normal_tail, tail)


@lru_cache(maxsize=256)
def t_quantile_above(tail: float, freedom: int) -> float:
    """The t with P(T > t) = tail, 0 < tail <= 1/2."""
    return _where(lambda t: t_tail(t, freedom), tail)


def _where(tail_of: Callable[[float], float], tail: float) -> float:
    """The place from 0 up at which a falling tail has come down to `tail`, by bisection."""
    if not 0 < tail <= 0.5:
        raise ValueError(f"a tail has a probability above 0 and up to 1/2, not {tail}")
    high = 1.0
    while tail_of(high) > tail:
        high *= 2
    low = 0.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if tail_of(middle) > tail else (low, middle)
    return (low + high) / 2
