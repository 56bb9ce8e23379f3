"""Float64 arithmetic that carries, for every element, a bound on what a lower precision may differ by.

This is running error analysis (Wilkinson; Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed.,
sections 2.2 and 3.1 to 3.3): each operation adds the bound of its own rounding to the bounds that its
operands bring along. The bound holds for every order of summation and with or without fused multiply-add.

A rounding to a grid (int8 levels, bfloat16) is monotone. So if the program's value lies within `error` of the
oracle's, its rounded value lies between the two roundings of the interval's ends. Where both ends round alike
the error vanishes; where a tie lies between them, it is exactly the one step that the program may have
decided otherwise. No margin is needed for rounding decisions, and none is given.
"""

from collections.abc import Callable
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from bench_core.arrays import Bool, Float64, Shaped
from bench_core.gmm.base import Arithmetic
from bench_core.shapes import DType

# Stated again, and not taken from quant.py: the oracle shares no code with what it checks.
INT8_LEVELS = 127
FLOAT32_TINY = float(np.finfo(np.float32).tiny)

_UNIT_ROUNDOFF = {DType.FLOAT32: 2.0**-24, DType.BFLOAT16: 2.0**-8, DType.FLOAT64: 2.0**-53}

SILU_LIPSCHITZ = 1.1
"""Upper bound of |d silu(x) / dx|, whose maximum is 1.0998 near x = 2.4."""
SIGMOID_LIPSCHITZ = 0.25
"""Maximum of sigmoid', at 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounded:
    """The oracle's `value`, and a bound `error` >= 0 on |program - oracle| for every element."""

    value: Float64[np.ndarray, "*shape"]
    error: Float64[np.ndarray, "*shape"]

    @classmethod
    def exact(cls, array: Shaped[np.ndarray, "*shape"]) -> "Bounded":
        """A number that program and oracle share to the last bit, such as an input."""
        value = np.asarray(array).astype(np.float64)
        return cls(value=value, error=np.zeros_like(value))

    @property
    def magnitude(self) -> Float64[np.ndarray, "*shape"]:
        """Bound on |program|."""
        return np.abs(self.value) + self.error

    @property
    def transposed(self) -> "Bounded":
        return Bounded(value=self.value.T, error=self.error.T)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedMath:
    """The operations of the block, as a program with this `arithmetic` and `dtype` may perform them."""

    arithmetic: Arithmetic
    dtype: DType

    @property
    def _u(self) -> float:
        return self.arithmetic.accumulate_roundoff

    @property
    def dtype_roundoff(self) -> float:
        """Unit roundoff of the case's dtype."""
        return _UNIT_ROUNDOFF[self.dtype]

    def sent(self, roundings: int) -> float:
        """Relative error of so many roundings, one after the other, of sums that devices send to each other. Sums in
        float32 have no others than those that gamma counts, in whatever order and wherever terms are added."""
        return (1.0 + self.dtype_roundoff) ** roundings - 1.0 if self.dtype is DType.BFLOAT16 else 0.0

    def matmul(self, left: Bounded, right: Bounded, *, terms: int | None = None, roundoff: float = 0.0) -> Bounded:
        """left [m, k] @ right [k, n]; `terms` is the number of summands that are not zero, default k. `roundoff`:
        relative error of each summand on top of the accumulator's."""
        gamma = self.arithmetic.gamma(left.value.shape[-1] if terms is None else terms)
        gamma += roundoff * (1.0 + gamma)
        magnitude = left.magnitude @ right.magnitude
        error = (1.0 + gamma) * magnitude - np.abs(left.value) @ np.abs(right.value)
        return Bounded(value=left.value @ right.value, error=np.maximum(error, 0.0))

    def multiply(self, left: Bounded, right: Bounded, *, roundings: int = 1) -> Bounded:
        """Elementwise product; `roundings` also counts those of constant factors left out here."""
        magnitude = left.magnitude * right.magnitude
        error = (1.0 + roundings * self._u) * magnitude - np.abs(left.value * right.value)
        return Bounded(value=left.value * right.value, error=np.maximum(error, 0.0))

    def sum(self, parts: list[Bounded], *, terms: int | None = None, roundoff: float = 0.0) -> Bounded:
        """Sum of arrays of one shape, in any order. `terms`: how many are not zero for one element, default
        all. `roundoff`: relative error of each part on top of the accumulator's.
        """
        relative = self.arithmetic.gamma(len(parts) if terms is None else terms)
        relative += roundoff * (1.0 + relative)
        magnitude = np.sum([part.magnitude for part in parts], axis=0)
        error = np.sum([part.error for part in parts], axis=0)
        return Bounded(value=np.sum([part.value for part in parts], axis=0), error=error + relative * magnitude)

    def sigmoid(self, x: Bounded) -> Bounded:
        value = _sigmoid(x.value)
        own = self.arithmetic.sigmoid_roundings * self._u
        return Bounded(value=value, error=SIGMOID_LIPSCHITZ * x.error + own * value)

    def silu(self, x: Bounded) -> Bounded:
        """x * sigmoid(x)."""
        value = x.value * _sigmoid(x.value)
        own = (self.arithmetic.sigmoid_roundings + 1) * self._u
        error = SILU_LIPSCHITZ * x.error
        return Bounded(value=value, error=error + own * (np.abs(value) + error))

    def silu_derivative(self, x: Bounded) -> Bounded:
        """s + x s (1 - s) with s = sigmoid(x). Its own derivative is at most 1/2, at 0.

        The roundings of s enter three times: itself, in the product, and absolutely in 1 - s.
        """
        s = _sigmoid(x.value)
        own = (self.arithmetic.sigmoid_roundings + 4) * self._u
        # sigmoid(x + e) <= sigmoid(x) + e / 4 keeps the magnitudes right when x itself is uncertain.
        s_most = np.minimum(s + SIGMOID_LIPSCHITZ * x.error, 1.0)
        own_magnitude = s_most * (1.0 + 2.0 * x.magnitude)
        return Bounded(value=s + x.value * s * (1.0 - s), error=0.5 * x.error + own * own_magnitude)

    def softmax(self, x: Bounded) -> Bounded:
        """exp(x - max) / sum of exp(x - max) along the last axis.

        The difference d = x - max is rounded once, which changes exp(d) by |d| u relatively; the sum takes the error of
        its worst term. exp of a few ulp and a division are no more than the roundings of a sigmoid. An error e of x
        changes a quotient by a factor of at most exp(e + largest e).
        """
        difference = x.value - x.value.max(axis=-1, keepdims=True)
        powers = np.exp(difference)
        value = powers / powers.sum(axis=-1, keepdims=True)
        own = x.error + x.error.max(axis=-1, keepdims=True)
        distance = np.abs(difference) + np.abs(difference).max(axis=-1, keepdims=True) + own
        terms = x.value.shape[-1]
        relative = (2 * self.arithmetic.sigmoid_roundings + distance) * self._u + self.arithmetic.gamma(terms)
        relative = (1.0 + relative * (1.0 + relative)) * np.exp(own) - 1.0
        # A weight too small for a normal float32 may be flushed to zero.
        return Bounded(value=value, error=relative * value + FLOAT32_TINY)

    def softmax_gradient(self, weights: Bounded, cotangent: Bounded, *, roundoff: float) -> Bounded:
        """p (g - sum of p g) along the last axis, of softmax's result p.

        The sum over devices of the same of each one's part of g, too: an error is held against the sum of all
        magnitudes, p (|g| + sum of p |g|). `roundoff`: relative error of each part on top of the accumulator's.
        """
        product = weights.value * cotangent.value
        inner = product.sum(axis=-1, keepdims=True)
        magnitude = np.abs(weights.value) * (np.abs(cotangent.value) + np.abs(product).sum(axis=-1, keepdims=True))
        most = weights.magnitude * (
            cotangent.magnitude + (weights.magnitude * cotangent.magnitude).sum(axis=-1, keepdims=True)
        )
        relative = self.arithmetic.gamma(weights.value.shape[-1] + 4)
        relative += roundoff * (1.0 + relative)
        error = np.maximum((1.0 + relative) * most - magnitude, 0.0)
        return Bounded(value=weights.value * (cotangent.value - inner), error=error)

    def dots(self, left: Bounded, right: Bounded) -> Bounded:
        """Of each row of one array with the same row of the other one, [rows]."""
        gamma = self.arithmetic.gamma(left.value.shape[-1])
        magnitude = (left.magnitude * right.magnitude).sum(axis=-1)
        error = (1.0 + gamma) * magnitude - np.abs(left.value * right.value).sum(axis=-1)
        return Bounded(value=(left.value * right.value).sum(axis=-1), error=np.maximum(error, 0.0))

    def rounded(self, x: Bounded) -> Bounded:
        """Rounded to the case's dtype, by the program for certain and hence by the oracle too."""
        match self.dtype:
            case DType.FLOAT32 | DType.FLOAT64:
                # The sums that enter here carry the accumulator's roundoff already.
                return x
            case DType.BFLOAT16:
                return _monotone(x, _to_bfloat16)

    def fake_quantised(self, x: Bounded, *, axis: int) -> Bounded:
        """scale * clip(rint(x / scale), -127, 127), scale = absmax / 127 along `axis` (see quant.py)."""
        slack = (self.arithmetic.division_roundings + 1) * self._u
        peak = np.max(np.abs(x.value), axis=axis, keepdims=True)
        peak_most = np.max(x.magnitude, axis=axis, keepdims=True)
        peak_least = np.max(np.abs(x.value) - x.error, axis=axis, keepdims=True)
        # Below this the program takes the slice for zeros, or may: see the threshold in quant.py.
        usable = peak_least > 2 * INT8_LEVELS * FLOAT32_TINY
        scale = np.where(usable, peak / INT8_LEVELS, 1.0)
        scale_most = np.where(usable, peak_most / INT8_LEVELS * (1 + slack), 1.0)
        scale_least = np.where(usable, peak_least / INT8_LEVELS * (1 - slack), 1.0)
        value = np.where(usable, _level(x.value / scale) * scale, 0.0)
        high = _largest_quantised(x.value + x.error, scale_least, scale_most, slack)
        low = -_largest_quantised(-x.value + x.error, scale_least, scale_most, slack)
        error = np.maximum(np.maximum(high - value, value - low), 0.0)
        return Bounded(value=value, error=np.where(usable, error, peak_most))


def _sigmoid(x: Float64[np.ndarray, "*shape"]) -> Float64[np.ndarray, "*shape"]:
    # Neither overflows nor cancels at either end.
    decay = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, decay) / (1.0 + decay)


def _to_bfloat16(x: Float64[np.ndarray, "*shape"]) -> Float64[np.ndarray, "*shape"]:
    # By way of float32, as the program does it.
    return x.astype(np.float32).astype(ml_dtypes.bfloat16).astype(np.float64)


def _level(x: Float64[np.ndarray, "*shape"]) -> Float64[np.ndarray, "*shape"]:
    return np.clip(np.rint(x), -INT8_LEVELS, INT8_LEVELS)


def _monotone(
    x: Bounded, rounding: Callable[[Float64[np.ndarray, "*shape"]], Float64[np.ndarray, "*shape"]]
) -> Bounded:
    value = rounding(x.value)
    above, below = rounding(x.value + x.error) - value, value - rounding(x.value - x.error)
    return Bounded(value=value, error=np.maximum(above, below))


def _largest_quantised(
    x: Float64[np.ndarray, "*shape"],
    scale_least: Float64[np.ndarray, "*scales"],
    scale_most: Float64[np.ndarray, "*scales"],
    slack: float,
) -> Float64[np.ndarray, "*shape"]:
    """Upper end of the quantised values of numbers up to x, over the scales that are possible."""
    upward: Bool[np.ndarray, "*shape"] = x >= 0
    quotient = np.where(upward, x / scale_least * (1 + slack), x / scale_most * (1 - slack))
    level = _level(quotient)
    return level * np.where(level > 0, scale_most * (1 + slack), scale_least * (1 - slack))
