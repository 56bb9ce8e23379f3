"""The gated (SwiGLU) expert in two halves, over sorted rows or over one dense group.

The whole expert is (silu(rows @ w1) * (rows @ w3)) @ w2, each row with the weights of its group (Shazeer 2020,
arXiv:2002.05202).
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int32

from bench_core.blocks.int8_matmul import int8_matmul
from bench_core.blocks.matmul import grouped_matmul
from bench_core.gmm.base import GroupedMatmul
from bench_core.quant.fake import operand
from bench_core.quant.mode import QuantMode
from bench_core.quant.sums import Sums


def up_projection(
    rows: Float[Array, "m hidden"],
    up_weights: tuple[Float[Array, "g hidden _"], ...],
    group_sizes: Int32[Array, " g"],
    *,
    backend: GroupedMatmul,
    quant_mode: QuantMode,
) -> Sums[Array, "m mlp"]:
    """silu(rows @ w1) * (rows @ w3).

    Args:
        rows: already an operand: quantised where the mode asks for it (int8_real: not yet), in the case's dtype.
        up_weights: (w1, w3), or (w13,) with w1 and w3 side by side along the last axis.
        group_sizes: rows of each group.
        backend: computes the matmuls.
        quant_mode: how the weights are quantised.
    """
    projected = [_multiply(backend, quant_mode, rows, weights, group_sizes) for weights in up_weights]
    gate, up = projected if len(projected) == 2 else jnp.split(projected[0], 2, axis=-1)
    return jax.nn.silu(gate) * up


def down_projection(
    hidden: Sums[Array, "m mlp"],
    down_weights: Float[Array, "g mlp hidden"],
    group_sizes: Int32[Array, " g"],
    *,
    backend: GroupedMatmul,
    quant_mode: QuantMode,
) -> Sums[Array, "m hidden"]:
    """hidden @ w2. `hidden` becomes an operand here."""
    lhs = operand(hidden, quant_mode, axis=-1, dtype=down_weights.dtype)
    return _multiply(backend, quant_mode, lhs, down_weights, group_sizes)


def _multiply(
    backend: GroupedMatmul,
    quant_mode: QuantMode,
    lhs: Float[Array, "m k"],
    weights: Float[Array, "g k n"],
    group_sizes: Int32[Array, " g"],
) -> Sums[Array, "m n"]:
    if quant_mode is QuantMode.INT8_REAL:
        return int8_matmul(backend, lhs, weights, group_sizes)
    rhs = operand(weights, quant_mode, axis=-2, dtype=weights.dtype)
    return grouped_matmul(backend, lhs, rhs, group_sizes)
