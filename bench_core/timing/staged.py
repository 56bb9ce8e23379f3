"""Several programs, one after another, as one call."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax

from bench_core.timing.measure import Clock, Places, lower_program, placed_outputs, require_in_place
from bench_core.timing.processes import put

# JAX leaves this function without types.
_ready: Callable[[Any], Any] = jax.block_until_ready

CompiledStep = tuple[jax.stages.Compiled, tuple[str, ...]]
Step = tuple[Callable[..., Any], tuple[str, ...]]
"""A function, and the names of what it is given: arguments of the whole, or results of steps before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedProgram:
    """Compiled programs with the arguments of the whole on the device; as `timing.measure.Program`.

    `steps`: by the name of the result, each with the names of what it is given. `last` gives the outputs of the whole,
    in the memory of donated ones. `waits`: the host starts a step when the one before has finished.
    """

    steps: Mapping[str, CompiledStep]
    last: CompiledStep
    values: Mapping[str, Any]
    outputs: Any
    waits: bool
    lower_s: float
    compile_s: float

    @property
    def arguments(self) -> tuple[Any, ...]:
        return tuple(self.values.values())

    def start(self, into: Any) -> Any:
        """Start all steps; `into` gives its memory away for the outputs."""
        values = dict(self.values)
        for name, (executable, given) in self.steps.items():
            values[name] = executable(tuple(values[one] for one in given))
            if self.waits:
                _ready(values[name])
        executable, given = self.last
        return executable(tuple(values[one] for one in given), into)


def compile_staged(
    steps: Mapping[str, Step],
    arguments: Mapping[str, Any],
    clock: Clock = time.perf_counter,
    *,
    waits: bool,
    options: Mapping[str, str | bool] | None = None,
    places: Places | None = None,
) -> StagedProgram:
    """Compile each step for the results of those before, which run once for it.

    Args:
        steps: in their order, by the names of their results.
        arguments: by name, in the order of `places`; they are put on the device first.
        clock: gives seconds.
        waits: see `StagedProgram`.
        options: those of the compiler.
        places: where arguments and outputs lie on several devices.

    Raises:
        RuntimeError: a step would move its arguments before it begins.
    """
    placed = _ready(put(tuple(arguments.values()), None if places is None else places.arguments))
    start = dict(zip(arguments, placed, strict=True))
    values: dict[str, Any] = dict(start)
    compiled: dict[str, CompiledStep] = {}
    lower_s = compile_s = 0.0
    *names, last = steps
    outputs: Any = None
    for name, (function, given) in steps.items():
        own = tuple(values[one] for one in given)
        outputs, shardings = placed_outputs(function, own, places) if name == last else (None, None)
        began = clock()
        if name == last:
            lowered = lower_program(function, own, outputs, shardings)
        else:
            lowered = jax.jit(_of_tuple(function), keep_unused=True).lower(own)
        lowered_at = clock()
        executable = lowered.compile(compiler_options=dict(options) if options else None)
        lower_s, compile_s = lower_s + lowered_at - began, compile_s + clock() - lowered_at
        if places is not None:
            require_in_place(executable, own)
        compiled[name] = executable, given
        if name != last:
            values[name] = executable(own)
    return StagedProgram(
        steps={name: compiled[name] for name in names},
        last=compiled[last],
        values=start,
        outputs=outputs,
        waits=waits,
        lower_s=lower_s,
        compile_s=compile_s,
    )


def _of_tuple(function: Callable[..., Any]) -> Callable[[tuple[Any, ...]], Any]:
    return lambda arguments: function(*arguments)
