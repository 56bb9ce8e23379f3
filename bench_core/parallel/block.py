"""The MoE block over several devices, and where its arrays lie before its clock starts."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from bench_core.arrays import Array, Float, Float32, Sums
from bench_core.blocks.inputs import ROUTER
from bench_core.blocks.moe import (
    BlockSpec,
    Queue,
    Tokens,
    Weights,
    block_rows,
    pack,
    routed_block,
    routed_inside,
    shared_block,
)
from bench_core.parallel.forms import DATA_AXIS, EXPERT_AXIS, Form, Sent, enter, leave, varying
from bench_core.parallel.plan import SpreadPlan
from bench_core.parallel.spread import EpImpl, Spread
from bench_core.quant import round_to, sum_dtype
from bench_core.routing.topk import RouterInput, Routing
from bench_core.timing.measure import Places

QUEUE_PARTITION = PartitionSpec((DATA_AXIS, EXPERT_AXIS))
"""Every device has a queue of its own, and so all that is made of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadSpec:
    """What is static about a spread block: the code of one device, and the ends around it."""

    block: BlockSpec
    form: Form
    spread: Spread

    def ran(self, *, prequeued: bool = False) -> str:
        """What a row says about the code that computed it."""
        spread = self.spread
        form = spread.impl.value if spread.impl is not None else "dp"
        mesh = f"{spread.dp} x {spread.ep} devices (data x expert)"
        return f"{self.block.ran(prequeued=prequeued)}; {form} over {mesh}, shard_map"


def spread_spec(block: BlockSpec, plan: SpreadPlan, *, experts: int, topk: int) -> SpreadSpec:
    """`block` has the layout of the plan."""
    spread = plan.spread
    exact = spread.impl is EpImpl.RAGGED_ALL_TO_ALL
    form = Form(
        impl=spread.impl,
        ep=spread.ep,
        local_experts=experts // spread.ep,
        topk=topk,
        strategy=block.pack_strategy,
        rows=plan.sent_rows if exact else plan.pair_rows,
        received=plan.most_rows,
        capacity=plan.buckets.capacity if exact and plan.buckets is not None else None,
    )
    return SpreadSpec(block=block, form=form, spread=spread)


def token_partition(spread: Spread) -> PartitionSpec:
    """Where the rows of tokens lie: on every device of a data shard, or cut further among these."""
    apart = spread.impl is not None and spread.impl.spreads_tokens
    return PartitionSpec((DATA_AXIS, EXPERT_AXIS)) if apart else PartitionSpec(DATA_AXIS)


def weight_partition(name: str) -> PartitionSpec:
    """Experts lie apart; the shared expert and the router are on every device."""
    return PartitionSpec() if name == ROUTER or name.startswith("shared_") else PartitionSpec(EXPERT_AXIS)


def spread_block(
    x: Tokens, weights: Weights, routing: RouterInput, queue: Queue | None = None, *, spec: SpreadSpec, mesh: Mesh
) -> Tokens:
    """`blocks.moe.moe_block` with its tokens and experts on a mesh of data x expert.

    What devices send is of x's dtype: partial sums, and rows on their way back, are rounded before they are sent.
    Given logits, every device chooses the experts of the tokens that it has. `queue`: what `spread_queue` has made of x
    and routing, where no tokens are sent.
    """

    def local(x: Array, weights: Mapping[str, Array], routing: RouterInput, queue: Queue | None) -> Array:
        x, own, routing = varying(x), varying(dict(weights)), varying(routing)
        if not isinstance(routing, Routing):
            routing = routed_inside(x, own, routing, spec.form.topk, padded=True)
        return _local_block(x, own, routing, spec, queue)

    tokens = token_partition(spec.spread)
    places = tokens, {name: weight_partition(name) for name in weights}, tokens, QUEUE_PARTITION
    return jax.shard_map(local, mesh=mesh, in_specs=places, out_specs=tokens)(x, dict(weights), routing, queue)


def spread_queue(x: Tokens, routing: Routing, spec: SpreadSpec, mesh: Mesh) -> Queue:
    """The dispatch of every device, one behind the other, for a form that sends no tokens."""

    def local(x: Array, routing: Routing) -> Queue:
        entered = enter(varying(x), varying(routing), spec.form)
        return varying(pack(entered.x, entered.routing, spec.form.local_experts, spec.block))

    tokens = token_partition(spec.spread)
    return jax.shard_map(local, mesh=mesh, in_specs=(tokens, tokens), out_specs=QUEUE_PARTITION)(x, routing)


def _local_block(x: Array, weights: dict[str, Array], routing: Routing, spec: SpreadSpec, queue: Queue | None) -> Array:
    """What each device does."""
    rows = block_rows(x, spec.block)
    entered = enter(x, routing, spec.form)
    spreads = spec.form.impl is not None and spec.form.impl.spreads_tokens
    received = block_rows(entered.x, spec.block) if spreads else rows
    output = routed_block(received, weights, entered.routing, spec.block, queue)
    return finish(output, rows, weights, entered.sent, spec)


def finish(
    output: Sums[Array, "received hidden"],
    rows: Float[Array, "own hidden"],
    weights: Mapping[str, Array],
    sent: Sent | None,
    spec: SpreadSpec,
) -> Float[Array, "own hidden"]:
    """On each device, from what its experts gave to its tokens' result; `rows` are the `block_rows` of these."""
    form = spec.form
    shared = "shared_w2" in weights
    if form.impl is None:
        whole = output + shared_block(rows, weights, spec.block) if shared else output
        # An axis of one device: its sum is itself, and says so to the types.
        return jax.lax.psum(round_to(whole, rows.dtype), EXPERT_AXIS)
    if form.impl is EpImpl.PSUM:
        # The tokens are on every device: each computes the shared expert for its part of them.
        whole = output + _part_of_shared(rows, weights, spec) if shared else output
        return leave(round_to(whole, rows.dtype), sent, form)
    return _with_shared(leave(round_to(output, rows.dtype), sent, form), rows, weights, spec)


def _with_shared(left: Array, rows: Array, weights: Mapping[str, Array], spec: SpreadSpec) -> Array:
    """What came back to the device of a token, and the shared expert's result for it."""
    if "shared_w2" not in weights:
        return left
    return round_to(left.astype(sum_dtype(rows.dtype)) + shared_block(rows, weights, spec.block), rows.dtype)


def _part_of_shared(rows: Array, weights: Mapping[str, Array], spec: SpreadSpec) -> Sums[Array, "tokens hidden"]:
    """The shared expert for one part of the tokens, zeros for the others."""
    size = rows.shape[0] // spec.spread.ep
    start = jax.lax.axis_index(EXPERT_AXIS) * size
    part = jax.lax.dynamic_slice_in_dim(rows, start, size)
    zeros = varying(jnp.zeros(rows.shape, sum_dtype(rows.dtype)))
    return jax.lax.dynamic_update_slice_in_dim(zeros, shared_block(part, weights, spec.block), start, 0)


def mesh_of(devices: Sequence[jax.Device], spread: Spread) -> Mesh:
    """The first devices as data x expert."""
    grid = np.array(devices[: spread.devices]).reshape(spread.dp, spread.ep)
    return Mesh(grid, (DATA_AXIS, EXPERT_AXIS))


def padded(x: Float[Array, "tokens hidden"], spread: Spread) -> Float[Array, "padded hidden"]:
    """With so many rows that every device has as many: zeros that no expert gets."""
    more = spread.padded_tokens(x.shape[0]) - x.shape[0]
    return jnp.pad(x, ((0, more), (0, 0))) if more else x


def padded_routing(routing: Routing, spread: Spread, experts: int) -> Routing:
    """The routing of `padded` tokens: those that were added have null slots."""
    more = spread.padded_tokens(routing.experts.shape[0]) - routing.experts.shape[0]
    if not more:
        return routing
    rows = ((0, more), (0, 0))
    chosen = jnp.pad(routing.experts, rows, constant_values=experts)
    return Routing(experts=chosen, weights=jnp.pad(routing.weights, rows))


def padded_logits(logits: Float32[Array, "tokens experts"], spread: Spread) -> Float32[Array, "padded experts"]:
    """The logits of `padded` tokens: those that were added choose no expert (see `routing.topk.route_padded`)."""
    more = spread.padded_tokens(logits.shape[0]) - logits.shape[0]
    return jnp.pad(logits, ((0, more), (0, 0)), constant_values=-jnp.inf) if more else logits


def places(mesh: Mesh, spread: Spread, weights: Collection[str], *, queued: bool = False) -> Places:
    """Of x, weights of these names, routing (or its logits) and a queue, and of what a pass gives: a gradient lies
    where its array lies."""
    tokens = NamedSharding(mesh, token_partition(spread))
    by_weight = {name: NamedSharding(mesh, weight_partition(name)) for name in weights}

    def of(name: str) -> NamedSharding:
        if name in ("output", "grad_x"):
            return tokens
        return (
            by_weight[name.removeprefix("grad_")] if name.startswith("grad_") else NamedSharding(mesh, PartitionSpec())
        )

    def outputs(shapes: Mapping[str, Any]) -> dict[str, NamedSharding]:
        return {name: of(name) for name in shapes}

    arguments = tokens, by_weight, tokens
    queue = (NamedSharding(mesh, QUEUE_PARTITION),) if queued else ()
    return Places(arguments=arguments + queue, outputs=outputs)
