"""The MoE block as it is timed."""

from collections.abc import Mapping
from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Float

from bench_core.blocks.gated import gated_experts
from bench_core.blocks.impls import Impl
from bench_core.gmm.base import GroupedMatmul
from bench_core.gmm.dense import DenseMatmul
from bench_core.quant.fake import operand
from bench_core.quant.mode import QuantMode
from bench_core.quant.rounding import round_to
from bench_core.routing.permute import combine, dispatch, sort_by_expert
from bench_core.routing.topk import Routing

Weights = Mapping[str, Array]
"""By name: w1, w3 [experts, hidden, mlp], w2 [experts, mlp, hidden], and with a shared expert shared_w1,
shared_w3 [1, hidden, shared], shared_w2 [1, shared, hidden]. In the stored form of a fused implementation
w13 [experts, hidden, 2 mlp] stands in for w1 and w3."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockSpec:
    """What is static about a block: the code that computes it, not its arrays."""

    backend: GroupedMatmul
    impl: Impl
    quant_mode: QuantMode


def moe_block(
    x: Float[Array, "tokens hidden"], weights: Weights, routing: Routing, spec: BlockSpec
) -> Float[Array, "tokens hidden"]:
    """Sum over the chosen experts of routing weight * expert(x), plus the shared expert.

    Matmuls take operands of x's dtype and accumulate in float32; everything between two matmuls is float32;
    the result is rounded to x's dtype once. Sorting by expert is part of the block, choosing experts is not.
    The routing weights are constants: gradients go to x and to the weights.

    Args:
        x: activations, float32 or bfloat16.
        weights: in the stored form of `spec.impl` (see `store_weights`).
        routing: fixed.
        spec: backend, implementation and quantisation.
    """
    # Quantised once per token, before dispatch: the scales are per row, so copies of a row share theirs.
    rows = operand(x, spec.quant_mode, axis=-1, dtype=x.dtype)
    permutation = sort_by_expert(routing.experts, experts=weights["w2"].shape[0])
    routed = gated_experts(
        dispatch(rows, permutation),
        (weights["w13"],) if spec.impl.fused_w13 else (weights["w1"], weights["w3"]),
        weights["w2"],
        permutation.group_sizes,
        backend=spec.backend,
        quant_mode=spec.quant_mode,
    )
    output = combine(routed, permutation, routing.weights)
    if "shared_w1" in weights:
        output = output + gated_experts(
            rows,
            (weights["shared_w1"], weights["shared_w3"]),
            weights["shared_w2"],
            jnp.array([x.shape[0]], jnp.int32),
            backend=DenseMatmul(),
            quant_mode=spec.quant_mode,
        )
    return round_to(output, x.dtype)


def store_weights(weights: Weights, impl: Impl) -> dict[str, Array]:
    """The form in which `impl` keeps its weights: w1 | w3 side by side when it fuses them."""
    stored = dict(weights)
    if impl.fused_w13:
        stored["w13"] = jnp.concatenate([stored.pop("w1"), stored.pop("w3")], axis=-1)
    return stored


def split_fused(stored: Mapping[str, Array]) -> dict[str, Array]:
    """The inverse of `store_weights`, for weights or their gradients."""
    weights = dict(stored)
    if "w13" in weights:
        weights["w1"], weights["w3"] = jnp.split(weights.pop("w13"), 2, axis=-1)
    return weights
