"""Lower, compile, call: each stage timed on its own, and every sample kept."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax

from bench_core.timing.poison import poisoned, require_written

Clock = Callable[[], float]
"""Returns seconds; only differences count."""

# JAX leaves this function without types.
_ready: Callable[[Any], Any] = jax.block_until_ready


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A compiled program with its arguments on the device, and how long it took to get there (seconds).

    `executable` takes the arguments, and arrays like `outputs` whose memory its outputs take over.
    """

    executable: jax.stages.Compiled
    arguments: tuple[Any, ...]
    outputs: Any
    lower_s: float
    compile_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where arrays lie on several devices: a sharding for each argument, and for each output, given their shapes."""

    arguments: Any
    outputs: Callable[[Any], Any]


def _placed(shape: jax.ShapeDtypeStruct, sharding: jax.sharding.Sharding) -> jax.ShapeDtypeStruct:
    struct: Any = jax.ShapeDtypeStruct
    placed: jax.ShapeDtypeStruct = struct(shape.shape, shape.dtype, sharding=sharding)
    return placed


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
    arguments = _ready(jax.device_put(arguments, None if places is None else places.arguments))
    outputs = jax.eval_shape(function, *arguments)
    shardings = None
    if places is not None:
        shardings = places.outputs(outputs)
        outputs = jax.tree.map(_placed, outputs, shardings)
    started = clock()
    lowered = lower_program(function, arguments, outputs, shardings)
    lowered_at = clock()
    executable = lowered.compile(compiler_options=dict(options) if options else None)
    compiled_at = clock()
    if places is not None:
        require_in_place(executable, arguments)
    return Program(
        executable=executable,
        arguments=arguments,
        outputs=outputs,
        lower_s=lowered_at - started,
        compile_s=compiled_at - lowered_at,
    )


def call(program: Program, clock: Clock = time.perf_counter, *, before: Any = None) -> Call:
    """Run the program once and wait for all of its outputs.

    They are poisoned before the clock starts, in the memory of the outputs `before` when those are given, and
    must be finite after it has stopped.

    Raises:
        NonFiniteOutput: they are not.
    """
    into = _ready(poisoned(program.outputs, before))
    started = clock()
    outputs = _ready(program.executable(program.arguments, into))
    time_s = clock() - started
    require_written(outputs)
    return Call(outputs=outputs, time_s=time_s)


def sample(program: Program, *, warmup: int, iters: int, clock: Clock = time.perf_counter) -> Samples:
    """Call the program `warmup` and then `iters` (>= 1) times. All calls share the memory of one set of outputs."""
    outputs = None
    time_s = []
    for _ in range(warmup + iters):
        latest = call(program, clock, before=outputs)
        time_s.append(latest.time_s)
        outputs = latest.outputs
    return Samples(warmup_s=tuple(time_s[:warmup]), time_s=tuple(time_s[warmup:]), outputs=outputs)


def trace_call(program: Program, folder: Path) -> None:
    """Run the program once under JAX's profiler; a Perfetto trace (perfetto_trace.json.gz) lies below `folder`."""
    into = _ready(poisoned(program.outputs))
    with jax.profiler.trace(str(folder), create_perfetto_trace=True):
        _ready(program.executable(program.arguments, into))
