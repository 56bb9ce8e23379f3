"""Rounding sums to the case's dtype, for certain."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from bench_core.quant.sums import Sums


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
