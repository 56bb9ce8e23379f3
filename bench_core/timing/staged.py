"""Several programs, one after another, as one call."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from bench_core.timing.compiling import Clock, CompileTime, compile_lowered
from bench_core.timing.measure import Places, Program, lower_program, placed_outputs, put, require_in_place


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """`function` takes what `takes` names, arguments of the whole or what stages before it gave, and returns by name
    what `gives` names."""

    name: str
    takes: tuple[str, ...]
    gives: tuple[str, ...]
    function: Callable[..., dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedRun:
    """Compiled stages by name, each with the names of what it takes; the last one's outputs go into donated memory.

    `names` are those of the arguments of the whole. `waits`: the host starts a stage when the one before has finished.
    """

    names: tuple[str, ...]
    stages: Mapping[str, tuple[jax.stages.Compiled, tuple[str, ...]]]
    waits: bool

    def __call__(self, arguments: tuple[Any, ...], into: Any) -> Any:
        values = dict(zip(self.names, arguments, strict=True))
        *before, (last, taken_last) = self.stages.values()
        for executable, taken in before:
            given = executable(tuple(values[name] for name in taken))
            values |= jax.block_until_ready(given) if self.waits else given
        return last(tuple(values[name] for name in taken_last), into)


def compile_staged(
    stages: Sequence[Stage],
    arguments: Mapping[str, Any],
    clock: Clock = time.perf_counter,
    *,
    waits: bool,
    options: Mapping[str, str | bool] | None = None,
    places: Places | None = None,
) -> Program:
    """Compile each stage for the results of those before, which run once for it.

    Args:
        stages: in their order.
        arguments: by name, in the order of `places`; they are put on the device first.
        clock: gives seconds.
        waits: see `StagedRun`.
        options: those of the compiler.
        places: where arguments and outputs lie on several devices.

    Raises:
        RuntimeError: a stage would move its arguments before it begins.
    """
    placed = put(tuple(arguments.values()), places)
    values: dict[str, Any] = dict(zip(arguments, placed, strict=True))
    compiled: dict[str, tuple[jax.stages.Compiled, tuple[str, ...]]] = {}
    lower_s, took = 0.0, CompileTime()
    outputs: Any = None
    for stage in stages:
        last = stage is stages[-1]
        own = tuple(values[name] for name in stage.takes)
        outputs, shardings = placed_outputs(stage.function, own, places) if last else (None, None)
        began = clock()
        if last:
            lowered = lower_program(stage.function, own, outputs, shardings)
        else:
            lowered = jax.jit(_of_tuple(stage.function), keep_unused=True).lower(own)
        lower_s += clock() - began
        executable, own_time = compile_lowered(lowered, clock, options)
        took += own_time
        if places is not None:
            require_in_place(executable, own)
        compiled[stage.name] = executable, stage.takes
        if not last:
            values |= executable(own)
    run = StagedRun(names=tuple(arguments), stages=compiled, waits=waits)
    return Program(run=run, executable=None, arguments=placed, outputs=outputs, lower_s=lower_s, took=took)


def _of_tuple(function: Callable[..., Any]) -> Callable[[tuple[Any, ...]], Any]:
    return lambda arguments: function(*arguments)
