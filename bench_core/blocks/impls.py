"""The table of block implementations. No JAX."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class Impl:
    """One way to compute the block. `fused_w13` stores w1 | w3 as one matrix and multiplies once."""

    name: str
    fused_w13: bool
    summary: str


IMPLS: Mapping[str, Impl] = MappingProxyType(
    {
        impl.name: impl
        for impl in (
            Impl(
                name="baseline",
                fused_w13=False,
                summary="w1 and w3 as two grouped matmuls, combine by inverse-permutation gather",
            ),
            Impl(
                name="fused_w13",
                fused_w13=True,
                summary="w1|w3 as one grouped matmul, combine by inverse-permutation gather",
            ),
        )
    }
)
