"""Compile a lowered program, or load what was compiled before: JAX keeps programs in a folder.

And what the compiler says about one: FLOPs, bytes, memory, text.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax

Clock = Callable[[], float]
"""Returns seconds; only differences count."""

_HIT = "/jax/compilation_cache/cache_hits"
"""What JAX calls a program that came out of the folder, https://docs.jax.dev/en/latest/persistent_compilation_cache.html."""

_events: list[str] = []


def _note(event: str, **_: Any) -> None:
    if event == _HIT:
        _events.append(event)


# JAX has no public way to take a listener back: there is one for good.
jax.monitoring.register_event_listener(_note)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileTime:
    """Seconds that compiling and loading took; None: nothing was compiled, or loaded."""

    compile_s: float | None = None
    load_s: float | None = None

    def __add__(self, other: "CompileTime") -> "CompileTime":
        return CompileTime(
            compile_s=_sum(self.compile_s, other.compile_s),
            load_s=_sum(self.load_s, other.load_s),
        )

    @property
    def label(self) -> str:
        """How the program came about; one that an earlier case of the process has was `reused`."""
        if self == CompileTime():
            return "reused"
        return "loaded" if self.compile_s is None else "compiled" if self.load_s is None else "compiled and loaded"


def compile_lowered(
    lowered: jax.stages.Lowered, clock: Clock, options: Mapping[str, str | bool] | None
) -> tuple[jax.stages.Compiled, CompileTime]:
    """The executable, and how long that took; `options` are those of the compiler."""
    _events.clear()
    began = clock()
    executable = lowered.compile(compiler_options=dict(options) if options else None)
    took = clock() - began
    return executable, CompileTime(load_s=took) if _events else CompileTime(compile_s=took)


def _sum(one: float | None, other: float | None) -> float | None:
    return one if other is None else other if one is None else one + other


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramCost:
    """XLA's analysis of a compiled program, and the optimised HLO; None where the platform has none, or jaxlib
    cannot read it (a libtpu that is newer than it)."""

    flops: float | None
    bytes_accessed: float | None
    text: str | None


def program_cost(executable: jax.stages.Compiled) -> ProgramCost:
    """Ask the compiler. Some platforms have no cost analysis, or no count of FLOPs in it."""
    try:
        costs = executable.cost_analysis()
    except (NotImplementedError, jax.errors.JaxRuntimeError):
        costs = None
    costs = costs or {}
    try:
        text = executable.as_text()
    except jax.errors.JaxRuntimeError:
        text = None
    return ProgramCost(flops=costs.get("flops"), bytes_accessed=costs.get("bytes accessed"), text=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramMemory:
    """Bytes of the buffers that the compiler assigned, by class. What a library takes for itself during a call
    (to pack the operands of a matmul, say) is not among them."""

    arguments: int
    outputs: int
    temporaries: int
    code: int

    @property
    def total(self) -> int:
        """What a call needs at once."""
        return self.arguments + self.outputs + self.temporaries + self.code


def program_memory(executable: jax.stages.Compiled) -> ProgramMemory | None:
    """The memory of one call; None where the platform does not tell.

    Arguments whose memory becomes an output's are counted once, as outputs.
    """
    sizes = executable.memory_analysis()
    if sizes is None:
        return None
    return ProgramMemory(
        arguments=sizes.argument_size_in_bytes - sizes.alias_size_in_bytes,
        outputs=sizes.output_size_in_bytes,
        temporaries=sizes.temp_size_in_bytes,
        code=sizes.generated_code_size_in_bytes,
    )
