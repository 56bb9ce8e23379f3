"""The table of block implementations. No JAX."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class Impl:
    """One way to compute the block.

    `fused_w13` stores w1 | w3 as one matrix and multiplies once. `preweight` applies the routing weight to the
    gated hidden row before w2. `scatter` adds rows into the output instead of gathering them for each token.
    """

    name: str
    fused_w13: bool = False
    preweight: bool = False
    scatter: bool = False

    @property
    def summary(self) -> str:
        up = "w1|w3 as one grouped matmul" if self.fused_w13 else "w1 and w3 as two grouped matmuls"
        weight = "routing weight before w2, " if self.preweight else ""
        back = "scatter-add" if self.scatter else "inverse-permutation gather"
        return f"{up}, {weight}combine by {back}"


IMPLS: Mapping[str, Impl] = MappingProxyType(
    {
        impl.name: impl
        for impl in (
            Impl(name="baseline"),
            Impl(name="fused_w13", fused_w13=True),
            Impl(name="preweight", preweight=True),
            Impl(name="fused_w13_preweight", fused_w13=True, preweight=True),
            Impl(name="scatter", scatter=True),
            Impl(name="fast", fused_w13=True, scatter=True),
        )
    }
)
