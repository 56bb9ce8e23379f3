"""The forward pass in parts, each of which is a program of its own: on one device, or on each of several, with what is
sent before and after them.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from bench_core.arrays import Array
from bench_core.blocks.moe import (
    BlockSpec,
    Queue,
    Weights,
    block_rows,
    combine_stage,
    down_stage,
    pack,
    shared_block,
    up_stage,
)
from bench_core.parallel.block import QUEUE_PARTITION, SpreadSpec, finish, token_partition, weight_partition
from bench_core.parallel.forms import Form, Sent, enter, leave, varying
from bench_core.quant import round_to
from bench_core.routing.topk import RouterInput, Routing, route, route_padded
from bench_core.timing.measure import Places
from bench_core.timing.staged import Stage


def block_stages(spec: BlockSpec, experts: int) -> tuple[Stage, ...]:
    """Four stages of x, weights and routing: of a block on one device, or of each device's part with so many experts.

    pack: quantise (int8), sort and dispatch; up: w1 and w3 with the gate; down: w2; combine: the weighted sum. The
    shared expert is in none of them.
    """

    def packed(x: Array, routing: Routing) -> dict[str, Any]:
        return {"queue": pack(block_rows(x, spec), routing, experts, spec)}

    def up(queue: Queue, weights: Weights) -> dict[str, Any]:
        return {"hidden": up_stage(queue, weights, spec)}

    def down(hidden: Array, queue: Queue, weights: Weights) -> dict[str, Any]:
        return {"rows": down_stage(hidden, queue, weights, spec)}

    def combined(rows: Array, queue: Queue, routing: Routing) -> dict[str, Any]:
        return {"combined": combine_stage(rows, queue.permutation, routing, spec)}

    return (
        Stage(name="pack", takes=("x", "routing"), gives=("queue",), function=packed),
        Stage(name="up", takes=("queue", "weights"), gives=("hidden",), function=up),
        Stage(name="down", takes=("hidden", "queue", "weights"), gives=("rows",), function=down),
        Stage(name="combine", takes=("rows", "queue", "routing"), gives=("combined",), function=combined),
    )


def whole_stages(spec: BlockSpec, experts: int, topk: int) -> tuple[Stage, ...]:
    """Four stages of x, weights and router (a routing or its logits), which are all of a block on one device."""

    def enter(x: Array, router: RouterInput) -> dict[str, Any]:
        return {"x": x, "routing": router if isinstance(router, Routing) else route(router, topk)}

    def finish(combined: Array, x: Array, weights: Weights) -> Array:
        shared = "shared_w2" in weights
        return round_to(combined + shared_block(block_rows(x, spec), weights, spec) if shared else combined, x.dtype)

    return with_ends(block_stages(spec, experts), enter, finish)


def with_ends(
    stages: tuple[Stage, ...],
    enter: Callable[[Array, RouterInput], dict[str, Any]],
    finish: Callable[..., Array],
    sent: tuple[str, ...] = (),
) -> tuple[Stage, ...]:
    """`block_stages` as all of a block: `enter` is a part of pack, and `finish` of combine.

    Args:
        stages: the four.
        enter: of x and router; gives the `x` and the `routing` that the experts see, and what `sent` names.
        finish: of what combine gives, the x of the block, weights, and what `sent` names; gives the block's output.
        sent: names of what `finish` needs of `enter`.
    """
    pack, up, down, combine = stages

    def packed(x: Array, router: RouterInput) -> dict[str, Any]:
        entered = enter(x, router)
        given = pack.function(entered["x"], entered["routing"])
        return given | {"entered": entered["routing"]} | {name: entered[name] for name in sent}

    def finished(rows: Array, queue: Queue, routing: Routing, x: Array, weights: Weights, *sent: Any) -> dict[str, Any]:
        return {"output": finish(combine.function(rows, queue, routing)["combined"], x, weights, *sent)}

    return (
        Stage(name="pack", takes=("x", "router"), gives=("queue", "entered", *sent), function=packed),
        up,
        down,
        Stage(
            name="combine",
            takes=("rows", "queue", "entered", "x", "weights", *sent),
            gives=("output",),
            function=finished,
        ),
    )


def device_stages(spec: SpreadSpec) -> tuple[Stage, ...]:
    """What each device does, with what is sent as stages of its own.

    send: what brings tokens to the experts' devices (ring: the gather; all_to_all: sort by device, copy, exchange).
    return: what brings the sums back, which `combine` has rounded to the dtype of x. psum has no `send`, because its
    tokens are on every device; dp has neither.
    """
    form = spec.form
    pack, up, down, combine = block_stages(spec.block, form.local_experts)
    if form.impl is None:
        return pack, up, down, combine
    sent = _sent(form)

    def send(x: Array, routing: Routing) -> dict[str, Any]:
        entered = enter(x, routing, form)._asdict()
        return {name: entered[name] for name in ("x", "routing", *sent)}

    def pack_own(x: Array, routing: Routing) -> dict[str, Any]:
        return pack.function(x, enter(x, routing, form).routing)

    def combine_rounded(rows: Array, queue: Queue, routing: Routing) -> dict[str, Any]:
        given = combine.function(rows, queue, routing)
        return {name: round_to(array, queue.rows.dtype) for name, array in given.items()}

    def back(combined: Array, sent: Sent | None = None) -> dict[str, Any]:
        return {"output": leave(combined, sent, form)}

    inner = (pack if form.impl.spreads_tokens else replace(pack, function=pack_own)), up, down
    ends = (
        Stage(name="send", takes=("x", "routing"), gives=("x", "routing", *sent), function=send),
        Stage(name="return", takes=("combined", *sent), gives=("output",), function=back),
    )
    stages = (*inner, replace(combine, function=combine_rounded), ends[1])
    return (ends[0], *stages) if form.impl.spreads_tokens else stages


def whole_device_stages(spec: SpreadSpec) -> tuple[Stage, ...]:
    """What each device does, all of it in the four stages of one device: pack sends, and combine brings back."""
    form = spec.form

    def entered(x: Array, router: RouterInput) -> dict[str, Any]:
        routing = router if isinstance(router, Routing) else route_padded(router, form.topk)
        return enter(x, routing, form)._asdict()

    def finished(combined: Array, x: Array, weights: Weights, sent: Sent | None = None) -> Array:
        return finish(combined, block_rows(x, spec.block), weights, sent, spec)

    return with_ends(block_stages(spec.block, form.local_experts), entered, finished, _sent(form))


def _sent(form: Form) -> tuple[str, ...]:
    """The name of what says how rows were sent, for a form that sends them."""
    return ("sent",) if form.impl is not None and form.impl.sends_rows else ()


def spread_stage(
    stage: Stage, spec: SpreadSpec, mesh: Mesh, weights: Collection[str]
) -> tuple[Callable[..., dict[str, Any]], Places]:
    """The program of all devices, and where its arrays lie: tokens and weights as in the whole block; what only a stage
    knows is each device's own, one behind the other."""
    tokens = token_partition(spec.spread)
    known: dict[str, Any] = dict.fromkeys(("x", "routing", "router", "output"), tokens)
    known["weights"] = {name: weight_partition(name) for name in weights}

    def partition(name: str) -> Any:
        return known.get(name, QUEUE_PARTITION)

    def placed(partitions: Any) -> Any:
        return jax.tree.map(lambda own: NamedSharding(mesh, own), partitions, is_leaf=_is_partition)

    def local(*arguments: Any) -> dict[str, Any]:
        return stage.function(*varying(arguments))

    given = {name: partition(name) for name in stage.gives}
    taken = tuple(partition(name) for name in stage.takes)
    function = jax.shard_map(local, mesh=mesh, in_specs=taken, out_specs=given)

    def outputs(shapes: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: jax.tree.map(lambda _, own=given[name]: NamedSharding(mesh, own), shapes[name]) for name in shapes
        }

    return function, Places(arguments=placed(taken), outputs=outputs)


def _is_partition(tree: Any) -> bool:
    return isinstance(tree, PartitionSpec)
