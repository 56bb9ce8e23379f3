"""Several programs, one after another, as one call."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from bench_core.errors import MAKING_INPUTS, noted
from bench_core.timing.compiling import Clock, CompileTime, compile_lowered
from bench_core.timing.measure import Places, lower_program, placed_outputs, require_in_place


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """`function` takes what `takes` names, arguments of the whole or what stages before it gave, and returns by name
    what `gives` names."""

    name: str
    takes: tuple[str, ...]
    gives: tuple[str, ...]
    function: Callable[..., dict[str, Any]]


CompiledStage = tuple[jax.stages.Compiled, tuple[str, ...]]
"""With the names of what it takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedProgram:
    """Compiled stages, by name, with the arguments of the whole on the device; as `timing.measure.Program`.

    `last` gives the outputs of the whole, in the memory of donated ones. `waits`: the host starts a stage when the one
    before has finished.
    """

    stages: Mapping[str, CompiledStage]
    last: CompiledStage
    values: Mapping[str, Any]
    outputs: Any
    waits: bool
    lower_s: float
    took: CompileTime

    @property
    def arguments(self) -> tuple[Any, ...]:
        return tuple(self.values.values())

    def start(self, into: Any) -> Any:
        """Start all stages; `into` gives its memory away for the outputs."""
        values = dict(self.values)
        for executable, taken in self.stages.values():
            given = executable(tuple(values[name] for name in taken))
            if self.waits:
                jax.block_until_ready(given)
            values |= given
        executable, taken = self.last
        return executable(tuple(values[name] for name in taken), into)


def compile_staged(
    stages: Sequence[Stage],
    arguments: Mapping[str, Any],
    clock: Clock = time.perf_counter,
    *,
    waits: bool,
    options: Mapping[str, str | bool] | None = None,
    places: Places | None = None,
) -> StagedProgram:
    """Compile each stage for the results of those before, which run once for it.

    Args:
        stages: in their order.
        arguments: by name, in the order of `places`; they are put on the device first.
        clock: gives seconds.
        waits: see `StagedProgram`.
        options: those of the compiler.
        places: where arguments and outputs lie on several devices.

    Raises:
        RuntimeError: a stage would move its arguments before it begins.
    """
    with noted(MAKING_INPUTS):
        placed = jax.block_until_ready(
            jax.device_put(tuple(arguments.values()), None if places is None else places.arguments)
        )
    start = dict(zip(arguments, placed, strict=True))
    values: dict[str, Any] = dict(start)
    compiled: dict[str, CompiledStage] = {}
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
    return StagedProgram(
        last=compiled.pop(stages[-1].name),
        stages=compiled,
        values=start,
        outputs=outputs,
        waits=waits,
        lower_s=lower_s,
        took=took,
    )


def _of_tuple(function: Callable[..., Any]) -> Callable[[tuple[Any, ...]], Any]:
    return lambda arguments: function(*arguments)
