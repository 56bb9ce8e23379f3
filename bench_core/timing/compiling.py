"""Compile a lowered program, or load what was compiled before: JAX keeps programs in a folder."""

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
