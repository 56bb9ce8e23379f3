"""Lower, compile, call: each stage timed on its own, and every sample kept."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax

Clock = Callable[[], float]
"""Returns seconds; only differences count."""

# JAX leaves this function without types.
_ready: Callable[[Any], Any] = jax.block_until_ready


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A compiled program with its arguments on the device, and how long it took to get there (seconds)."""

    executable: jax.stages.Compiled
    arguments: tuple[Any, ...]
    lower_s: float
    compile_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Outputs of one call, all of them ready, and its duration in seconds."""

    outputs: Any
    time_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """Durations in seconds of every warm-up call and every timed call, in order, and the last outputs."""

    warmup_s: tuple[float, ...]
    time_s: tuple[float, ...]
    outputs: Any


def compile_program(
    function: Callable[..., Any], arguments: tuple[Any, ...], clock: Clock = time.perf_counter
) -> Program:
    """Lower and compile `function` for `arguments`, which are put on the device first."""
    arguments = _ready(jax.device_put(arguments))
    started = clock()
    lowered = jax.jit(function).lower(*arguments)
    lowered_at = clock()
    executable = lowered.compile()
    compiled_at = clock()
    return Program(
        executable=executable,
        arguments=arguments,
        lower_s=lowered_at - started,
        compile_s=compiled_at - lowered_at,
    )


def call(program: Program, clock: Clock = time.perf_counter) -> Call:
    """Run the program once and wait for all of its outputs."""
    started = clock()
    outputs = _ready(program.executable(*program.arguments))
    return Call(outputs=outputs, time_s=clock() - started)


def sample(program: Program, *, warmup: int, iters: int, clock: Clock = time.perf_counter) -> Samples:
    """Call the program `warmup` and then `iters` (>= 1) times."""
    warmup_s = tuple(call(program, clock).time_s for _ in range(warmup))
    time_s = []
    outputs = None
    for _ in range(iters):
        # The last outputs are let go first, so that two sets of gradients never share the device's memory.
        outputs = None
        latest = call(program, clock)
        time_s.append(latest.time_s)
        outputs = latest.outputs
        del latest
    return Samples(warmup_s=warmup_s, time_s=tuple(time_s), outputs=outputs)


def trace_call(program: Program, folder: Path) -> None:
    """Run the program once under JAX's profiler; a Perfetto trace (perfetto_trace.json.gz) lies below `folder`."""
    with jax.profiler.trace(str(folder), create_perfetto_trace=True):
        _ready(program.executable(*program.arguments))
