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
