"""What the compiler says about a program: FLOPs, bytes, memory, text."""

from dataclasses import dataclass

import jax


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
