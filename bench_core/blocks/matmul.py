"""Grouped matmul with gradients, over any backend: mixed precision, and int8 codes with int32 accumulation."""

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType

import jax
import jax.numpy as jnp

from bench_core.arrays import Array, Int8, Int32, Sums
from bench_core.gmm.base import GroupedMatmul, Matrices, Rows, Sizes
from bench_core.quant import LEVELS, Codes, dequantised, int8_codes, round_to, sum_dtype


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def grouped_matmul(backend: GroupedMatmul, lhs: Rows, rhs: Matrices, group_sizes: Sizes) -> Sums[Array, "m n"]:
    """out[i] = lhs[i] @ rhs[group of i], accumulated and returned in `sum_dtype`.

    The cotangent is rounded to the operands' dtype before the two backward matmuls, as training in that
    dtype does; their results are rounded to the operand's dtype once.
    """
    return backend.forward(lhs, rhs, group_sizes)


def _forward(backend: GroupedMatmul, *given: Array) -> tuple[Array, tuple[Array, ...]]:
    return backend.forward(*given), given


def _backward(
    backend: GroupedMatmul, residuals: tuple[Array, ...], cotangent: Sums[Array, "m n"]
) -> tuple[Array, Array, None]:
    lhs, rhs, group_sizes = residuals
    narrow = round_to(cotangent, lhs.dtype)
    grad_lhs = backend.grad_lhs(narrow, rhs, group_sizes)
    grad_rhs = backend.grad_rhs(lhs, narrow, group_sizes)
    return round_to(grad_lhs, lhs.dtype), round_to(grad_rhs, rhs.dtype), None


grouped_matmul.defvjp(_forward, _backward)


IntegerProduct = Callable[[Array, Array, Array], Array]


def _ragged(lhs: Int8[Array, "m k"], rhs: Int8[Array, "g k n"], group_sizes: Int32[Array, " g"]) -> Int32[Array, "m n"]:
    return jax.lax.ragged_dot(lhs, rhs, group_sizes, preferred_element_type=jnp.int32)


def _dense(lhs: Int8[Array, "m k"], rhs: Int8[Array, "1 k n"], group_sizes: Int32[Array, " 1"]) -> Int32[Array, "m n"]:
    return jax.lax.dot_general(lhs, rhs[0], (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32)


INTEGER_PRODUCTS: Mapping[str, IntegerProduct] = MappingProxyType({"ragged_dot": _ragged, "dense": _dense})
"""By name of the backend: those that multiply int8 by int8 into int32. Others cannot serve int8_real."""
LONGEST_SUM = (2**31 - 1) // LEVELS**2
"""Most products of two codes that an int32 holds for certain."""


def int8_matmul(backend: GroupedMatmul, lhs: Rows, rhs: Matrices, group_sizes: Sizes) -> Sums[Array, "m n"]:
    """out[i] = lhs[i] @ rhs[group of i] of operands that are quantised here.

    Codes are int8, one scale per row of the left operand and per group and column of the right. Their products
    are summed in int32, without rounding (up to LONGEST_SUM of them), and scaled in `sum_dtype`. The backward pass is
    straight-through: its two matmuls are those of the dequantised operands, rounded to the dtype of `rhs`.
    """
    wide = sum_dtype(rhs.dtype)
    return _of_codes(backend, rhs.dtype, lhs.astype(wide), rhs.astype(wide), group_sizes)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _of_codes(backend: GroupedMatmul, dtype: jnp.dtype, lhs: Array, rhs: Array, group_sizes: Array) -> Array:
    return _int8_forward(backend, dtype, lhs, rhs, group_sizes)[0]


def _int8_forward(
    backend: GroupedMatmul, dtype: jnp.dtype, lhs: Array, rhs: Array, group_sizes: Array
) -> tuple[Array, tuple[Codes, Codes, Array]]:
    left, right = int8_codes(lhs, axis=-1), int8_codes(rhs, axis=-2)
    total = INTEGER_PRODUCTS[backend.name](left.codes, right.codes, group_sizes)
    by_row = jnp.repeat(right.scale[:, 0, :], group_sizes, axis=0, total_repeat_length=lhs.shape[0])
    return total.astype(left.scale.dtype) * left.scale * by_row, (left, right, group_sizes)


def _int8_backward(
    backend: GroupedMatmul, dtype: jnp.dtype, residuals: tuple[Codes, Codes, Array], cotangent: Sums[Array, "m n"]
) -> tuple[Array, Array, None]:
    *codes, group_sizes = residuals
    lhs, rhs = (round_to(dequantised(own), dtype) for own in codes)
    grad_lhs, grad_rhs, _ = _backward(backend, (lhs, rhs, group_sizes), cotangent)
    return grad_lhs.astype(cotangent.dtype), grad_rhs.astype(cotangent.dtype), None


_of_codes.defvjp(_int8_forward, _int8_backward)
