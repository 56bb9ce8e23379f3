"""Lower, compile, call: each stage timed on its own, and every sample kept.

Outputs are poisoned before each call, so that one that a program leaves unwritten shows.
"""

import functools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bench_core.errors import NonFiniteOutput
from bench_core.timing.compiling import Clock, CompileTime, compile_lowered


def _fresh(like: Any) -> Any:
    return jax.tree.map(lambda one: jnp.full(one.shape, _lost(one.dtype), one.dtype), like)


def _lost(dtype: np.dtype[Any]) -> float | int:
    return float("nan") if jnp.issubdtype(dtype, jnp.inexact) else int(np.iinfo(dtype).min)


_in_place = jax.jit(_fresh, donate_argnums=0, keep_unused=True)


@functools.lru_cache(maxsize=16)
def _in_their_places(shardings: tuple[jax.sharding.Sharding, ...]) -> Callable[[Any], Any]:
    """As `_in_place`, for lists of arrays on several devices: values that depend on nothing would lie on all."""
    return jax.jit(_fresh, donate_argnums=0, keep_unused=True, out_shardings=list(shardings))


def poisoned(like: Any, outputs: Any = None) -> Any:
    """Arrays like `like` full of NaN (integers: the lowest value), on the devices that its shardings name.
    `outputs` gives its memory away for them."""
    leaves, tree = jax.tree.flatten(like)
    shardings = tuple(one.sharding for one in leaves if one.sharding is not None)
    if outputs is None:
        made = jax.jit(lambda: _fresh(leaves), out_shardings=list(shardings) or None)()
        return jax.tree.unflatten(tree, made)
    if not shardings:
        return _in_place(outputs)
    return jax.tree.unflatten(tree, _in_their_places(shardings)(jax.tree.leaves(outputs)))


@jax.jit
def _finite(outputs: Any) -> Any:
    return jax.tree.map(lambda array: jnp.isfinite(array).all(), outputs)


def require_written(outputs: Any) -> None:
    """Every element is finite, so the program has written it.

    Raises:
        NonFiniteOutput: one is not; the error names its output.
    """
    for path, finite in jax.tree.leaves_with_path(_finite(outputs)):
        if not bool(finite):
            raise NonFiniteOutput(
                f"{jax.tree_util.keystr(path, simple=True)} holds NaN or infinity after a call",
                cause="the program computed it, or left a part unwritten: outputs hold NaN before each call",
                hint="run the case again; if it repeats, report the backend",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A compiled program with its arguments on the device, and how long it took to get there (seconds).

    `run` takes the arguments, and arrays like `outputs` whose memory its outputs take over. It is the `executable`;
    where that is None it calls several (see `timing.staged`).
    """

    run: Callable[[tuple[Any, ...], Any], Any]
    executable: jax.stages.Compiled | None
    arguments: tuple[Any, ...]
    outputs: Any
    lower_s: float
    took: CompileTime

    def start(self, into: Any) -> Any:
        """Start it; `into` gives its memory away for the outputs."""
        return self.run(self.arguments, into)


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where arrays lie on several devices: a sharding for each argument, which may stand for all arrays in it, and for
    each output, given their shapes."""

    arguments: Any
    outputs: Callable[[Any], Any]


def put(arguments: tuple[Any, ...], places: Places | None) -> tuple[Any, ...]:
    """The arguments on the device, or on several; ready."""
    return jax.block_until_ready(jax.device_put(arguments, None if places is None else places.arguments))


def _placed(shape: jax.ShapeDtypeStruct, sharding: jax.sharding.Sharding) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape.shape, shape.dtype, sharding=sharding)


def require_in_place(executable: jax.stages.Compiled, arguments: tuple[Any, ...]) -> None:
    """Every argument lies where the program reads it, so that no call begins with moving it.

    Raises:
        RuntimeError: one does not.
    """
    (expected, *_), _ = executable.input_shardings
    for (path, array), sharding in zip(jax.tree.leaves_with_path(arguments), jax.tree.leaves(expected), strict=True):
        if not array.sharding.is_equivalent_to(sharding, array.ndim):
            raise RuntimeError(f"{jax.tree_util.keystr(path)} lies on {array.sharding}, the program reads {sharding}")


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


def lower_program(
    function: Callable[..., Any], arguments: tuple[Any, ...], outputs: Any, shardings: Any = None
) -> jax.stages.Lowered:
    """Lower `function` in the form that is timed: its results go into the memory of donated `outputs`.

    Args:
        function: of the arguments.
        arguments: arrays, or their shapes with the sharding of a device.
        outputs: the shapes of what it returns, with theirs.
        shardings: where the results lie, for several devices; None: on the one of the arguments.
    """

    def into(arguments: tuple[Any, ...], _outputs: Any) -> Any:
        return function(*arguments)

    return jax.jit(into, donate_argnums=1, keep_unused=True, out_shardings=shardings).lower(arguments, outputs)


def placed_outputs(function: Callable[..., Any], arguments: tuple[Any, ...], places: Places | None) -> tuple[Any, Any]:
    """The shapes of what `function` returns, and where it lies on several devices (else None)."""
    outputs = jax.eval_shape(function, *arguments)
    if places is None:
        return outputs, None
    shardings = places.outputs(outputs)
    return jax.tree.map(_placed, outputs, shardings), shardings


def compile_program(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    clock: Clock = time.perf_counter,
    *,
    options: Mapping[str, str | bool] | None = None,
    places: Places | None = None,
) -> Program:
    """Lower and compile `function` for `arguments`, which are put on the device first, or on several as `places` says.

    `options` are those of the compiler.

    Raises:
        RuntimeError: the program would move its arguments before it begins.
    """
    arguments = put(arguments, places)
    started = clock()
    # Traced once: for the shapes of its outputs, and inlined for the program.
    traced = jax.jit(function, inline=True)
    outputs, shardings = placed_outputs(traced, arguments, places)
    lowered = lower_program(traced, arguments, outputs, shardings)
    lowered_at = clock()
    executable, took = compile_lowered(lowered, clock, options)
    if places is not None:
        require_in_place(executable, arguments)
    return Program(
        run=executable,
        executable=executable,
        arguments=arguments,
        outputs=outputs,
        lower_s=lowered_at - started,
        took=took,
    )


def reused(program: Program, arguments: tuple[Any, ...], places: Places | None) -> Program:
    """A program of this process with other arguments, which are put on the device: nothing is lowered or compiled."""
    return replace(program, arguments=put(arguments, places), lower_s=0.0, took=CompileTime())


def call(program: Program, clock: Clock = time.perf_counter, *, before: Any = None) -> Call:
    """Run the program once and wait for all of its outputs.

    They are poisoned before the clock starts, in the memory of the outputs `before` when those are given, and
    must be finite after it has stopped.

    Raises:
        NonFiniteOutput: they are not.
    """
    into = jax.block_until_ready(poisoned(program.outputs, before))
    started = clock()
    outputs = jax.block_until_ready(program.start(into))
    time_s = clock() - started
    require_written(outputs)
    return Call(outputs=outputs, time_s=time_s)


def sample(program: Program, *, warmup: int, iters: int, clock: Clock = time.perf_counter) -> Samples:
    """Call the program `warmup` and then `iters` (>= 1) times. All calls share the memory of one set of outputs.

    Raises:
        NonFiniteOutput: the outputs of a call are not finite.
    """
    outputs: Any = None
    time_s: list[float] = []
    for _ in range(warmup + iters):
        latest = call(program, clock, before=outputs)
        time_s.append(latest.time_s)
        outputs = latest.outputs
    return Samples(warmup_s=tuple(time_s[:warmup]), time_s=tuple(time_s[warmup:]), outputs=outputs)


def trace_call(program: Program, folder: Path) -> None:
    """Run the program once under JAX's profiler; a Perfetto trace (perfetto_trace.json.gz) lies below `folder`."""
    into = jax.block_until_ready(poisoned(program.outputs))
    with jax.profiler.trace(str(folder), create_perfetto_trace=True):
        jax.block_until_ready(program.start(into))
