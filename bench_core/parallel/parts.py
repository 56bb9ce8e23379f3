"""The forward pass in four parts, of one device or of several: pack, up, down and combine.

Each part is a function of arrays, so that it can be a program of its own. Between two of them every device has rows of
its own; what devices send is sent in pack and in combine.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
from jax.sharding import PartitionSpec
from jaxtyping import Array

from bench_core.blocks.moe import (
    BlockSpec,
    Queue,
    block_rows,
    combine_stage,
    down_stage,
    pack,
    shared_block,
    up_stage,
)
from bench_core.parallel.block import (
    QUEUE_PARTITION,
    SpreadSpec,
    finish,
    of_queue,
    of_routing,
    of_sent,
    token_partition,
    weight_partition,
)
from bench_core.parallel.forms import Sent, enter, varying
from bench_core.quant.rounding import round_to
from bench_core.routing.topk import RouterInput, Routing, route, route_padded

STAGES = ("pack", "up", "down", "combine")

_P: Callable[..., PartitionSpec] = PartitionSpec


class Packed(NamedTuple):
    """What pack gives: the rows that a device's experts compute, the routing among them, and what the device has
    sent."""

    queue: Queue
    routing: Routing
    sent: Sent | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """Functions of arrays.

    pack        (x, routing or logits) -> Packed
    up          (packed, weights) -> hidden rows, of `sum_dtype`
    down        (hidden, packed, weights) -> rows, of `sum_dtype`
    combine     (rows, packed, x, weights) -> output, of x's dtype; the shared expert is computed here
    """

    pack: Callable[..., Packed]
    up: Callable[..., Array]
    down: Callable[..., Array]
    combine: Callable[..., Array]


def stages_of_one(spec: BlockSpec, *, experts: int, topk: int) -> Stages:
    """On one device."""

    def pack_all(x: Array, router: RouterInput) -> Packed:
        routing = router if isinstance(router, Routing) else route(router, topk)
        return Packed(pack(block_rows(x, spec), routing, experts, spec), routing, None)

    def combine(rows: Array, packed: Packed, x: Array, weights: Mapping[str, Array]) -> Array:
        output = combine_stage(rows, packed.queue.permutation, packed.routing, spec)
        if "shared_w2" in weights:
            output = output + shared_block(block_rows(x, spec), weights, spec)
        return round_to(output, x.dtype)

    return Stages(pack=pack_all, up=_up(spec), down=_down(spec), combine=combine)


def spread_stages(spec: SpreadSpec, mesh: jax.sharding.Mesh) -> Stages:
    """On each device of `mesh`."""
    form, block = spec.form, spec.block
    tokens, own = token_partition(spec.spread), QUEUE_PARTITION
    sends = form.impl is not None and form.impl.sends_rows
    packed = Packed(of_queue(own), of_routing(own), of_sent(own) if sends else None)

    def pack_all(x: Array, router: RouterInput) -> Packed:
        routing = router if isinstance(router, Routing) else route_padded(router, form.topk)
        entered = enter(x, routing, form)
        queue = pack(block_rows(entered.x, block), entered.routing, form.local_experts, block)
        return Packed(queue, entered.routing, entered.sent)

    def combine(rows: Array, packed: Packed, x: Array, weights: Mapping[str, Array]) -> Array:
        output = combine_stage(rows, packed.queue.permutation, packed.routing, block)
        return finish(output, block_rows(x, block), weights, packed.sent, spec)

    def on_devices(function: Callable[..., Any], places: tuple[Any, ...], into: Any) -> Callable[..., Any]:
        """`weights` and a router have places that depend on what they are."""

        def stage(*arguments: Any) -> Any:
            given = tuple(_place(argument, place) for argument, place in zip(arguments, places, strict=True))
            return jax.shard_map(lambda *own: function(*varying(own)), mesh=mesh, in_specs=given, out_specs=into)(
                *arguments
            )

        return stage

    return Stages(
        pack=on_devices(pack_all, (tokens, tokens), packed),
        up=on_devices(_up(block), (packed, None), own),
        down=on_devices(_down(block), (own, packed, None), own),
        combine=on_devices(combine, (own, packed, tokens, None), tokens),
    )


def _place(argument: Any, place: Any) -> Any:
    if isinstance(argument, Routing):
        return of_routing(place)
    return {name: weight_partition(name) for name in argument} if place is None else place


def _up(spec: BlockSpec) -> Callable[..., Array]:
    return lambda packed, weights: up_stage(packed.queue, weights, spec)


def _down(spec: BlockSpec) -> Callable[..., Array]:
    return lambda hidden, packed, weights: down_stage(hidden, packed.queue, weights, packed.routing, spec)
