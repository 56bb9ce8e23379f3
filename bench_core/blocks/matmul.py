"""Mixed-precision grouped matmul with gradients, over any backend."""

import functools

import jax
from jaxtyping import Array, Float, Int32

from bench_core.gmm.base import GroupedMatmul
from bench_core.quant.rounding import round_to
from bench_core.quant.sums import Sums


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def grouped_matmul(
    backend: GroupedMatmul,
    lhs: Float[Array, "m k"],
    rhs: Float[Array, "g k n"],
    group_sizes: Int32[Array, " g"],
) -> Sums[Array, "m n"]:
    """out[i] = lhs[i] @ rhs[group of i], accumulated and returned in `sum_dtype`.

    The cotangent is rounded to the operands' dtype before the two backward matmuls, as training in that
    dtype does; their results are rounded to the operand's dtype once.
    """
    return backend.forward(lhs, rhs, group_sizes)


def _forward(
    backend: GroupedMatmul,
    lhs: Float[Array, "m k"],
    rhs: Float[Array, "g k n"],
    group_sizes: Int32[Array, " g"],
) -> tuple[Array, tuple[Array, Array, Array]]:
    return backend.forward(lhs, rhs, group_sizes), (lhs, rhs, group_sizes)


def _backward(
    backend: GroupedMatmul, residuals: tuple[Array, Array, Array], cotangent: Sums[Array, "m n"]
) -> tuple[Array, Array, None]:
    lhs, rhs, group_sizes = residuals
    narrow = round_to(cotangent, lhs.dtype)
    grad_lhs = backend.grad_lhs(narrow, rhs, group_sizes)
    grad_rhs = backend.grad_rhs(lhs, narrow, group_sizes)
    return round_to(grad_lhs, lhs.dtype), round_to(grad_rhs, rhs.dtype), None


grouped_matmul.defvjp(_forward, _backward)
