"""The dtype of sums, and of all that lies between two matmuls, and rounding them to the case's dtype, for certain.

Symmetric int8: codes and scales, and fake quantisation with straight-through gradients.
"""

import contextlib
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bench_core.arrays import Array, Float, Int8, Sums
from bench_core.shapes import DType, QuantMode


def sum_dtype(dtype: jnp.dtype) -> jnp.dtype:
    """float64 for float64; float32 for float32 and bfloat16."""
    return jnp.dtype(jnp.float64 if dtype == jnp.float64 else jnp.float32)


def round_to(values: Sums[Array, "*shape"], dtype: jnp.dtype) -> Float[Array, "*shape"]:
    """Round `values` to `dtype` (float32 and float64: unchanged). Gradients are rounded in the same way.

    A cast alone is not enough: XLA may drop a float32 -> bfloat16 -> float32 pair as excess precision
    (`xla_allow_excess_precision`), and what is timed would then not be what the dtype says.
    `reduce_precision` is kept by every compiler pass.
    """
    if dtype in (jnp.float32, jnp.float64):
        return values
    if dtype != jnp.bfloat16:
        raise NotImplementedError(f"rounding to {dtype}")
    return jax.lax.reduce_precision(values, exponent_bits=8, mantissa_bits=7).astype(dtype)


def types_for(dtype: DType) -> contextlib.AbstractContextManager[Any]:
    """Inside of it JAX has float64, where `dtype` is that. For the others it changes nothing: JAX with 64-bit types
    makes other programs of the same code, whose indices are wider."""
    return jax.enable_x64(True) if dtype is DType.FLOAT64 else contextlib.nullcontext()


FLOAT32_TINY = float(np.finfo(np.float32).tiny)
"""Smallest normal number."""
LEVELS = 127
"""Largest magnitude of a symmetric int8 code: -128 is left unused, so that zero stays in the middle."""


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def fake_quantise(values: Sums[Array, "*shape"], axis: int) -> Sums[Array, "*shape"]:
    """Round to the nearest of 255 levels between -absmax and absmax along `axis`.

    Equals `scale * clip(round(values / scale), -127, 127)` with `scale = absmax / 127`, ties to even; the
    error is at most half a level, absmax / 254. A slice of zeros (or of subnormals) becomes zeros. The
    gradient is straight-through: that of the identity (Bengio et al. 2013, arXiv:1308.3432).

    Args:
        values: float32, or float64 in a case of float64.
        axis: the reduced axis of the matmul that follows: -1 gives one scale per row of a left operand,
            -2 one per expert and output column of a right operand.
    """
    scale = jnp.max(jnp.abs(values), axis=axis, keepdims=True) / LEVELS
    # A subnormal scale may be flushed to zero by the hardware, and 0 / 0 would follow.
    scale = jnp.where(scale >= FLOAT32_TINY, scale, 1.0)
    return jnp.clip(jnp.round(values / scale), -LEVELS, LEVELS) * scale


def _forward(values: Sums[Array, "*shape"], axis: int) -> tuple[Sums[Array, "*shape"], None]:
    return fake_quantise(values, axis), None


def _backward(_axis: int, _residuals: None, cotangent: Sums[Array, "*shape"]) -> tuple[Array]:
    return (cotangent,)


fake_quantise.defvjp(_forward, _backward)


def operand(values: Float[Array, "*shape"], mode: QuantMode, *, axis: int, dtype: jnp.dtype) -> Float[Array, "*shape"]:
    """Prepare a matmul operand: quantise along `axis` (mode int8), then round to `dtype`.

    An int8_real operand is left as it is: its codes are made where they are multiplied.
    Quantisation happens in the dtype of sums, whatever `dtype` is: its rounding decisions must not depend on a
    coarser rounding just before.
    """
    if mode is QuantMode.INT8_REAL or (mode is QuantMode.NONE and values.dtype == dtype):
        return values
    wide = values.astype(sum_dtype(values.dtype))
    if mode is QuantMode.INT8:
        wide = fake_quantise(wide, axis)
    return round_to(wide, dtype)


class Codes(NamedTuple):
    """codes * scale is the quantised array; `scale` has size 1 along the reduced axis."""

    codes: Int8[Array, "*shape"]
    scale: Sums[Array, "*scales"]


def int8_codes(values: Sums[Array, "*shape"], *, axis: int) -> Codes:
    """The codes behind `fake_quantise`: clip(round(values / scale), -127, 127), scale = absmax / 127."""
    scale = jnp.max(jnp.abs(values), axis=axis, keepdims=True) / LEVELS
    # As in `fake_quantise`: no division by a scale that the hardware may flush to zero.
    scale = jnp.where(scale >= FLOAT32_TINY, scale, 1.0)
    return Codes(codes=jnp.clip(jnp.round(values / scale), -LEVELS, LEVELS).astype(jnp.int8), scale=scale)


def dequantised(codes: Codes) -> Sums[Array, "*shape"]:
    return codes.codes.astype(codes.scale.dtype) * codes.scale
