"""The forward pass of the routed experts in parts, each of which is a program of its own."""

from collections.abc import Callable
from typing import Any

from jaxtyping import Array

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
from bench_core.quant.rounding import round_to
from bench_core.routing.topk import RouterInput, Routing, route
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
