"""What a compiled program holds in memory."""

from dataclasses import dataclass

import jax


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
