"""Small pieces that the loops over row tiles share.

Inside the loops bfloat16 operands are carried as their bits, unsigned 16-bit integers. XLA for CPU has no bfloat16
slice: it would widen whole operands to float32 before the loop, and narrow every slice again inside.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Shaped

from bench_core.gmm.precision import matmul_precision
from bench_core.quant.sums import Sums, sum_dtype


def bits(operand: Float[Array, "*shape"]) -> Shaped[Array, "*shape"]:
    """bfloat16 as uint16, bit by bit; others as they are."""
    return jax.lax.bitcast_convert_type(operand, jnp.uint16) if operand.dtype == jnp.bfloat16 else operand


def valued(moved: Shaped[Array, "*shape"], dtype: jnp.dtype) -> Float[Array, "*shape"]:
    """The inverse of `bits`."""
    return moved if moved.dtype == dtype else jax.lax.bitcast_convert_type(moved, dtype)


def dot(lhs: Float[Array, "_ _"], rhs: Float[Array, "_ _"], axes: tuple[int, int]) -> Sums[Array, "_ _"]:
    """lhs contracted with rhs over one axis of each."""
    return jax.lax.dot_general(
        lhs,
        rhs,
        (((axes[0],), (axes[1],)), ((), ())),
        precision=matmul_precision(lhs),
        preferred_element_type=sum_dtype(lhs.dtype),
    )
