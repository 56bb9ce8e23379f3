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
        waits: the host starts a stage when the one before has finished; else all at once.
        options: those of the compiler.
        places: where arguments and outputs lie on several devices.

    Raises:
        RuntimeError: a stage would move its arguments before it begins.
    """
    placed = put(tuple(arguments.values()), places)
    values: dict[str, Any] = dict(zip(arguments, placed, strict=True))
    compiled: list[tuple[jax.stages.Compiled, tuple[str, ...]]] = []
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
        compiled.append((executable, stage.takes))
        if not last:
            values |= executable(own)
    *before, (last_one, taken_last) = compiled

    def run(given: tuple[Any, ...], into: Any) -> Any:
        values = dict(zip(arguments, given, strict=True))
        for executable, taken in before:
            results = executable(tuple(values[name] for name in taken))
            values |= jax.block_until_ready(results) if waits else results
        return last_one(tuple(values[name] for name in taken_last), into)

    return Program(run=run, executable=None, arguments=placed, outputs=outputs, lower_s=lower_s, took=took)


def _of_tuple(function: Callable[..., Any]) -> Callable[[tuple[Any, ...]], Any]:
    return lambda arguments: function(*arguments)
