"""The gated (SwiGLU) expert, over sorted rows or over one dense group."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Float32, Int32

from bench_core.blocks.matmul import grouped_matmul
from bench_core.gmm.base import GroupedMatmul
from bench_core.quant.fake import operand
from bench_core.quant.mode import QuantMode


def gated_experts(
    rows: Float[Array, "m hidden"],
    up_weights: tuple[Float[Array, "g hidden _"], ...],
    down_weights: Float[Array, "g mlp hidden"],
    group_sizes: Int32[Array, " g"],
    *,
    backend: GroupedMatmul,
    quant_mode: QuantMode,
) -> Float32[Array, "m hidden"]:
    """(silu(rows @ w1) * (rows @ w3)) @ w2, each row with the weights of its group (Shazeer 2020,
    arXiv:2002.05202).

    Args:
        rows: already an operand: quantised where the mode asks for it, in the case's dtype.
        up_weights: (w1, w3), or (w13,) with w1 and w3 side by side along the last axis.
        down_weights: w2.
        group_sizes: rows of each group.
        backend: computes the matmuls.
        quant_mode: how weights and the hidden activations are quantised.
    """
    dtype = rows.dtype

    def multiply(lhs: Array, weights: Array) -> Array:
        rhs = operand(weights, quant_mode, axis=-2, dtype=dtype)
        return grouped_matmul(backend, lhs, rhs, group_sizes)

    projected = [multiply(rows, weights) for weights in up_weights]
    gate, up = projected if len(projected) == 2 else jnp.split(projected[0], 2, axis=-1)
    hidden = jax.nn.silu(gate) * up
    return multiply(operand(hidden, quant_mode, axis=-1, dtype=dtype), down_weights)
