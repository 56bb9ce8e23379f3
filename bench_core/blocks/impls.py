"""The table of block implementations. No JAX."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class Impl:
    """One way to compute the block.

    `fused_w13` stores w1 | w3 as one matrix and multiplies once.
    """

    name: str
    fused_w13: bool = False

    @property
    def summary(self) -> str:
        return "w1|w3 as one grouped matmul" if self.fused_w13 else "w1 and w3 as two grouped matmuls"


IMPLS: Mapping[str, Impl] = MappingProxyType(
    {impl.name: impl for impl in (Impl(name="baseline"), Impl(name="fused_w13", fused_w13=True))}
)
