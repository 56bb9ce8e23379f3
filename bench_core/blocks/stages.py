"""The forward pass of the routed experts in parts, each of which is a program of its own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxtyping import Array

from bench_core.blocks.moe import BlockSpec, Queue, Weights, block_rows, combine_stage, down_stage, pack, up_stage
from bench_core.routing.topk import Routing


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """`function` takes the arrays that `takes` names, and returns those that `gives` names, by their names.

    Every block begins with `x`, `weights` (in their stored form) and `routing`.
    """

    name: str
    takes: tuple[str, ...]
    gives: tuple[str, ...]
    function: Callable[..., dict[str, Any]]


def block_stages(spec: BlockSpec, experts: int) -> tuple[Stage, ...]:
    """Of a block on one device, or of each device's part with so many experts.

    pack: quantise (int8), sort and dispatch; up: w1 and w3 with the gate; down: w2; combine: the weighted sum. The
    shared expert is in none of them.
    """

    def packed(x: Array, routing: Routing) -> dict[str, Any]:
        return {"queue": pack(block_rows(x, spec), routing, experts, spec)}

    def up(queue: Queue, weights: Weights) -> dict[str, Any]:
        return {"hidden": up_stage(queue, weights, spec)}

    def down(hidden: Array, queue: Queue, weights: Weights, routing: Routing) -> dict[str, Any]:
        return {"rows": down_stage(hidden, queue, weights, routing, spec)}

    def combined(rows: Array, queue: Queue, routing: Routing) -> dict[str, Any]:
        return {"combined": combine_stage(rows, queue.permutation, routing, spec)}

    return (
        Stage(name="pack", takes=("x", "routing"), gives=("queue",), function=packed),
        Stage(name="up", takes=("queue", "weights"), gives=("hidden",), function=up),
        Stage(name="down", takes=("hidden", "queue", "weights", "routing"), gives=("rows",), function=down),
        Stage(name="combine", takes=("rows", "queue", "routing"), gives=("combined",), function=combined),
    )
