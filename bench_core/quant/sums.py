"""The dtype of sums, and of all that lies between two matmuls, and rounding them to the case's dtype, for certain."""

import contextlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from bench_core.arrays import Array, Float, Sums
from bench_core.shapes import DType

# JAX leaves this without types.
_x64: Callable[[bool], contextlib.AbstractContextManager[Any]] = jax.enable_x64


def sum_dtype(dtype: jnp.dtype) -> jnp.dtype:
    """float64 for float64; float32 for float32 and bfloat16."""
    sums: jnp.dtype = jnp.dtype(jnp.float64 if dtype == jnp.float64 else jnp.float32)
    return sums


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
    return _x64(True) if dtype is DType.FLOAT64 else contextlib.nullcontext()
