"""The forward pass in four programs, each timed on its own."""

import statistics
from collections.abc import Callable
from typing import Any

import jax

from bench_core.blocks.inputs import BlockInputs
from bench_core.blocks.moe import BlockSpec, combine_stage, down_stage, pack, store_weights, up_stage
from bench_core.harness.compiler_flags import NO_FLAGS, CompilerFlags
from bench_core.quant.fake import operand
from bench_core.timing.measure import call, compile_program, sample

STAGES = ("pack", "up", "down", "combine")


def time_stages(
    inputs: BlockInputs, spec: BlockSpec, *, warmup: int, iters: int, flags: CompilerFlags = NO_FLAGS
) -> dict[str, tuple[float, ...]]:
    """Seconds of every timed call, by stage; nothing when no slot has an expert.

    pack: quantise (int8), sort and dispatch; up: w1 and w3 with the gate; down: w2; combine: the weighted sum.
    The shared expert is in none of them. Results pass through memory between two stages, which one program
    may avoid: the stages of a block need not add up to its time.
    """
    if spec.layout is not None and spec.layout.rows == 0:
        return {}
    weights = store_weights(inputs.weights, spec.impl, shared_fused=spec.shared_fused)
    experts = inputs.weights["w2"].shape[0]

    def pack_all(x: jax.Array, routing: Any) -> Any:
        return pack(operand(x, spec.quant_mode, axis=-1, dtype=x.dtype), routing, experts, spec)

    times: dict[str, tuple[float, ...]] = {}

    def run(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        program = compile_program(function, arguments, options=flags.options())
        outputs = call(program).outputs
        times[name] = sample(program, warmup=warmup, iters=iters).time_s
        return outputs

    queue = run("pack", pack_all, inputs.x, inputs.routing)
    hidden = run("up", lambda queue, weights: up_stage(queue, weights, spec), queue, weights)
    rows = run(
        "down",
        lambda hidden, queue, weights, routing: down_stage(hidden, queue, weights, routing, spec),
        hidden,
        queue,
        weights,
        inputs.routing,
    )
    run(
        "combine",
        lambda rows, permutation, routing: combine_stage(rows, permutation, routing, spec),
        rows,
        queue.permutation,
        inputs.routing,
    )
    return times


def stage_observations(times: dict[str, tuple[float, ...]]) -> dict[str, float]:
    """The median of each stage in seconds, and its share of the four in percent."""
    medians = {name: statistics.median(samples) for name, samples in times.items()}
    total = sum(medians.values())
    seconds = {f"stage_{name}_s": time_s for name, time_s in medians.items()}
    return seconds | {f"stage_{name}_percent": 100 * time_s / total for name, time_s in medians.items()}
