"""The FLOPs of a compiled program over the model FLOPs. No JAX."""

from dataclasses import dataclass

from bench_core.hlo.module import inside_loops, parse

MATMULS = ("dot", "convolution")
"""Opcodes: TPUs make convolutions of many dots."""
LEAST_RATIO = 0.95
"""A program cannot do with fewer than the model FLOPs: below this the compiler did not count all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inflation:
    """`ratio` = compiled FLOPs / model FLOPs. Both are None where the compiler's count says nothing, and
    `unknown` says why."""

    compiled_flops: float | None = None
    ratio: float | None = None
    unknown: str | None = None

    def observations(self) -> dict[str, float | None]:
        return {"compiled_flops": self.compiled_flops, "flops_inflation": self.ratio}

    def labels(self) -> dict[str, str]:
        return {} if self.unknown is None else {"flops_inflation_unknown": self.unknown}


def weigh(*, compiled_flops: float | None, text: str | None, model_flops: int) -> Inflation:
    """Compare a compiler's count with the model's.

    Args:
        compiled_flops: of one call, as XLA's cost analysis has it; None where the platform has none. It counts
            the body of a loop once, so a program with matmuls in a loop has no count at all.
        text: the optimised HLO; None where it cannot be read, and with it whether there are loops.
        model_flops: see `accounting.work`.
    """
    if compiled_flops is None:
        return Inflation(unknown="this platform does not count the FLOPs of a program")
    if model_flops == 0:
        return Inflation(compiled_flops=compiled_flops, unknown="the case has no model FLOPs")
    if text is None:
        return Inflation(unknown="the compiled program cannot be read: do libtpu and jaxlib fit together?")
    matmuls = _looped_matmuls(text)
    if any(matmuls):
        return Inflation(
            unknown=f"{sum(matmuls)} of {len(matmuls)} matmuls are in loops, of which the compiler counts one turn"
        )
    ratio = compiled_flops / model_flops
    if ratio < LEAST_RATIO:
        return Inflation(
            unknown=f"the compiler counts {ratio:.3g} of the model FLOPs: it does not know what some kernel does"
        )
    return Inflation(compiled_flops=compiled_flops, ratio=ratio)


def _looped_matmuls(text: str) -> list[bool]:
    """For every matmul of an HLO module, whether it is inside a loop."""
    module = parse(text)
    looped = inside_loops(module)
    return [
        computation.name in looped
        for computation in module.computations.values()
        for instruction in computation.instructions
        if instruction.opcode in MATMULS
    ]
