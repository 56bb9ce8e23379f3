"""The forward pass in several programs, each timed on its own."""

import statistics
from collections.abc import Sequence
from typing import Any

from bench_core.harness.build import Built
from bench_core.harness.compiler_flags import NO_FLAGS, CompilerFlags
from bench_core.timing.measure import call, compile_program, sample


def time_stages(
    built: Built, arguments: Sequence[Any], *, warmup: int, iters: int, flags: CompilerFlags = NO_FLAGS
) -> dict[str, tuple[float, ...]]:
    """Seconds of every timed call, by stage; nothing when no slot has an expert.

    What the stages are: `blocks.stages` and, of several devices, `parallel.stages`. Results pass through memory between
    two stages, which one program may avoid: the stages of a block need not add up to its time.

    Args:
        built: a case that is not prequeued.
        arguments: those of its program: x, stored weights, routing.
        warmup: calls of each stage that are not timed.
        iters: calls of each stage that are.
        flags: of the compiler.
    """
    if built.block.layout is not None and built.block.layout.rows == 0:
        return {}
    state = dict(zip(("x", "weights", "routing"), arguments, strict=True))
    times: dict[str, tuple[float, ...]] = {}
    for stage in built.stages(apart=True):
        function, places = built.stage_program(stage, state["weights"])
        taken = tuple(state[name] for name in stage.takes)
        program = compile_program(function, taken, options=flags.options(), places=places)
        state |= call(program).outputs
        times[stage.name] = sample(program, warmup=warmup, iters=iters).time_s
    return times


def stage_observations(times: dict[str, tuple[float, ...]]) -> dict[str, float]:
    """The median of each stage in seconds, and its share of all of them in percent."""
    medians = {name: statistics.median(samples) for name, samples in times.items()}
    total = sum(medians.values())
    seconds = {f"stage_{name}_s": time_s for name, time_s in medians.items()}
    return seconds | {f"stage_{name}_percent": 100 * time_s / total for name, time_s in medians.items()}
