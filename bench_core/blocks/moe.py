"""The MoE block as it is timed.

An expert is gated (SwiGLU): (silu(rows @ w1) * (rows @ w3)) @ w2, each row with the weights of its group (Shazeer 2020,
arXiv:2002.05202).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp

from bench_core.arrays import Array, Float, Float32, Int32, Sums
from bench_core.blocks.gated import GatedSpec, gate_and_up, gated_by, gated_experts
from bench_core.blocks.matmul import grouped_matmul, int8_matmul
from bench_core.blocks.modes import Impl, RematMode
from bench_core.gmm.base import DenseMatmul, GroupedMatmul
from bench_core.quant import operand, round_to, sum_dtype
from bench_core.routing.layout import Layout
from bench_core.routing.permute import Permutation, combine, dispatch, sort_by_expert
from bench_core.routing.request import PackStrategy
from bench_core.routing.topk import Routing, route, route_padded
from bench_core.shapes import QuantMode

Weights = Mapping[str, Array]
"""By name: w1, w3 [experts, hidden, mlp], w2 [experts, mlp, hidden], and with a shared expert shared_w1,
shared_w3 [1, hidden, shared], shared_w2 [1, shared, hidden]. In the stored form of a fused implementation
w13 [experts, hidden, 2 mlp] stands in for w1 and w3, and shared_w13 likewise. Where a pass trains it, also router
[1, hidden, experts]."""


Tokens = Float[Array, "tokens hidden"]
TokenSums = Sums[Array, "tokens hidden"]
RowSums = Sums[Array, "rows hidden"]


class Queue(NamedTuple):
    """A dispatch: the sorted rows, not yet quantised, and how they were sorted.

    A named tuple for the reason that `Routing` gives.
    """

    rows: Float[Array, "rows hidden"]
    permutation: Permutation


@dataclass(frozen=True, slots=True, kw_only=True)
class Products:
    """The matmuls of gated experts, by a backend. Hidden activations and weights become operands here."""

    backend: GroupedMatmul
    quant_mode: QuantMode

    def up(
        self,
        rows: Float[Array, "m hidden"],
        up_weights: tuple[Float[Array, "g hidden _"], ...],
        group_sizes: Int32[Array, " g"],
    ) -> Sums[Array, "m mlp"]:
        """silu(rows @ w1) * (rows @ w3); `up_weights`: (w1, w3), or (w13,) with both side by side. `rows` are operands
        already: quantised where the mode asks for it (int8_real: not yet), in the case's dtype."""
        gate, up = gate_and_up([self._multiply(rows, weights, group_sizes) for weights in up_weights])
        return jax.nn.silu(gate) * up

    def down(
        self, hidden: Sums[Array, "m mlp"], weights: Float[Array, "g mlp hidden"], group_sizes: Int32[Array, " g"]
    ) -> Sums[Array, "m hidden"]:
        """hidden @ w2."""
        return self._multiply(operand(hidden, self.quant_mode, axis=-1, dtype=weights.dtype), weights, group_sizes)

    def _multiply(
        self, lhs: Float[Array, "m k"], weights: Float[Array, "g k n"], group_sizes: Int32[Array, " g"]
    ) -> Sums[Array, "m n"]:
        if self.quant_mode is QuantMode.INT8_REAL:
            return int8_matmul(self.backend, lhs, weights, group_sizes)
        rhs = operand(weights, self.quant_mode, axis=-2, dtype=weights.dtype)
        return grouped_matmul(self.backend, lhs, rhs, group_sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockSpec:
    """What is static about a block: the code that computes it, not its arrays.

    `layout` is None when every assignment is real and no expert is padded.
    """

    backend: GroupedMatmul
    impl: Impl
    quant_mode: QuantMode
    shared_fused: bool = False
    pack_strategy: PackStrategy = PackStrategy.ARGSORT
    remat_mode: RematMode = RematMode.NONE
    layout: Layout | None = None

    @property
    def partial(self) -> bool:
        """Whether there are rows without an assignment, or assignments without a row."""
        return self.layout is not None

    @property
    def products(self) -> Products:
        return Products(backend=self.backend, quant_mode=self.quant_mode)

    @property
    def gated(self) -> GatedSpec | None:
        """The routed experts as one operation, where the backend has it and it serves the case; None: as products.

        Not with quantisation, recomputation or a prepared queue, and not where an expert is padded.
        """
        served = self.quant_mode is QuantMode.NONE and self.remat_mode is RematMode.NONE
        padded = self.layout is not None and self.layout.padded
        experts = gated_by(self.backend) if served and not padded else None
        return None if experts is None else GatedSpec(experts=experts, partial=self.partial)

    def ran(self, *, prequeued: bool = False) -> str:
        """What a row says about the code that computed it."""
        if prequeued or self.gated is None:
            return self.backend.ran()
        return f"{self.backend.ran()}; routed experts as one operation"


def moe_block(x: Tokens, weights: Weights, routing: Routing, spec: BlockSpec, queue: Queue | None = None) -> Tokens:
    """Sum over the chosen experts of routing weight * expert(x), plus the shared expert.

    Matmuls take operands of x's dtype and accumulate in `sum_dtype`, of which everything between two matmuls is too;
    the result is rounded to x's dtype once. Sorting by expert is part of the block, choosing experts is not.
    Gradients go to x, to the weights and to the routing weights.

    Args:
        x: activations, float32, bfloat16 or float64.
        weights: in the stored form of `spec` (see `store_weights`).
        routing: fixed. Null slots name the expert `experts` and have weight 0.
        spec: backend, implementation, quantisation, layout.
        queue: a dispatch that was prepared outside (see `pack`); gradients do not go through it.
    """
    rows = block_rows(x, spec)
    output = routed_block(rows, weights, routing, spec, queue)
    if "shared_w2" in weights:
        output = output + shared_block(rows, weights, spec)
    return round_to(output, x.dtype)


def block_rows(x: Tokens, spec: BlockSpec) -> Tokens:
    """x as it enters the experts: quantised once per token, before dispatch. The scales are per row, so copies of a row
    share theirs."""
    return operand(x, spec.quant_mode, axis=-1, dtype=x.dtype)


def routed_block(
    rows: Tokens, weights: Weights, routing: Routing, spec: BlockSpec, queue: Queue | None = None
) -> TokenSums:
    """The part of `moe_block` that is routed, of `block_rows`; not rounded yet."""
    if spec.layout is not None and spec.layout.rows == 0:
        # No slot has an expert: some backends have no program for zero rows.
        return jnp.zeros(rows.shape, sum_dtype(rows.dtype))
    if queue is None and spec.gated is not None:
        # Rows without an assignment are in no group, so that nobody computes them.
        layout = None if spec.layout is None else replace(spec.layout, filled=False)
        permutation = sort_by_expert(
            routing.experts, weights["w2"].shape[0], strategy=spec.pack_strategy, layout=layout
        )
        return gated_experts(spec.gated, rows, _up_weights(weights, spec), weights["w2"], permutation, routing.weights)
    if queue is None:
        packed = pack(rows, routing, weights["w2"].shape[0], spec)
    else:
        packed = queue._replace(rows=block_rows(queue.rows, spec))
    return _routed(packed, weights, routing, spec)


def pack(rows: Tokens, routing: Routing, experts: int, spec: BlockSpec) -> Queue:
    """Sort the assignments by expert and copy their rows into that order."""
    permutation = sort_by_expert(routing.experts, experts, strategy=spec.pack_strategy, layout=spec.layout)
    return Queue(rows=dispatch(rows, permutation, spec.partial), permutation=permutation)


def _up_weights(weights: Weights, spec: BlockSpec) -> tuple[Array, ...]:
    return tuple(weights[name] for name in (("w13",) if spec.impl.fused_w13 else ("w1", "w3")))


def up_stage(queue: Queue, weights: Weights, spec: BlockSpec) -> Sums[Array, "rows mlp"]:
    """The routed experts' gated hidden activations."""
    return spec.products.up(queue.rows, _up_weights(weights, spec), queue.permutation.group_sizes)


def down_stage(hidden: Sums[Array, "rows mlp"], queue: Queue, weights: Weights, spec: BlockSpec) -> RowSums:
    """The routed experts' results."""
    return spec.products.down(hidden, weights["w2"], queue.permutation.group_sizes)


def combine_stage(rows: RowSums, permutation: Permutation, routing: Routing, spec: BlockSpec) -> TokenSums:
    """The weighted sum of every token's rows."""
    return combine(rows, permutation, routing.weights, spec.partial)


def _routed(queue: Queue, weights: Weights, routing: Routing, spec: BlockSpec) -> TokenSums:
    def experts(queue: Queue, weights: Weights) -> Array:
        return down_stage(up_stage(queue, weights, spec), queue, weights, spec)

    def down_and_back(hidden: Array, queue: Queue, weights: Weights, routing: Routing) -> Array:
        return combine_stage(down_stage(hidden, queue, weights, spec), queue.permutation, routing, spec)

    match spec.remat_mode:
        case RematMode.COMBINE:
            # All that the weighted sum keeps is the experts' results, for the gradient of the routing weights.
            return jax.checkpoint(down_and_back)(up_stage(queue, weights, spec), queue, weights, routing)
        case RematMode.EXPERT_MLP:
            experts = jax.checkpoint(experts)
    return combine_stage(experts(queue, weights), queue.permutation, routing, spec)


def routed_inside(
    x: Tokens, weights: Weights, logits: Float32[Array, "tokens experts"], topk: int, *, padded: bool = False
) -> Routing:
    """The routing that the program makes of logits that it is given, and of its router where the weights have one.

    `padded`: tokens may have been added (see `route_padded`).
    """
    learned = None
    if "router" in weights:
        group: Int32[Array, " 1"] = jnp.array([x.shape[0]], jnp.int32)
        learned = grouped_matmul(DenseMatmul(), x, weights["router"], group)
    return (route_padded if padded else route)(logits, topk, learned)


def shared_block(rows: Tokens, weights: Weights, spec: BlockSpec) -> TokenSums:
    """The part of `moe_block` that every token goes through, of `block_rows`; not rounded yet."""
    names = ("shared_w13",) if spec.shared_fused else ("shared_w1", "shared_w3")
    group: Int32[Array, " 1"] = jnp.array([rows.shape[0]], jnp.int32)
    dense = Products(backend=DenseMatmul(), quant_mode=spec.quant_mode)
    hidden = dense.up(rows, tuple(weights[name] for name in names), group)
    return dense.down(hidden, weights["shared_w2"], group)


def store_weights(weights: Weights, impl: Impl, *, shared_fused: bool = False) -> dict[str, Array]:
    """The form in which weights are kept: w1 | w3 side by side where they are fused."""
    stored = dict(weights)
    for prefix, fused in (("", impl.fused_w13), ("shared_", shared_fused)):
        if fused:
            parts = [stored.pop(f"{prefix}w1"), stored.pop(f"{prefix}w3")]
            stored[f"{prefix}w13"] = jnp.concatenate(parts, axis=-1)
    return stored


def split_fused(stored: Mapping[str, Array]) -> dict[str, Array]:
    """The inverse of `store_weights`, for weights or their gradients."""
    weights = dict(stored)
    for prefix in ("", "shared_"):
        if f"{prefix}w13" in weights:
            fused = weights.pop(f"{prefix}w13")
            weights[f"{prefix}w1"], weights[f"{prefix}w3"] = jnp.split(fused, 2, axis=-1)
    return weights
