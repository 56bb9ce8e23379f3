"""The grouped matmul for CPUs: small dense matmuls over the rows that each group really has."""

from dataclasses import dataclass, field
from typing import ClassVar, final

from bench_core.arrays import Array, Sums
from bench_core.device import host_cpu
from bench_core.gmm.base import (
    FLOAT32_ACCUMULATION,
    Arithmetic,
    Cotangent,
    GroupedMatmul,
    MatmulRequest,
    Matrices,
    Rows,
    Sizes,
)
from bench_core.gmm.tiled_loops import groups_product, rows_product


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Tiled(GroupedMatmul):
    """Equals `jax.lax.ragged_dot_general`, at a cost that does not grow with the number of groups.

    Rows that a mask sets to zero add exact zeros, so the error bound is that of the group's own terms. `narrow`:
    bfloat16 is multiplied as such, where the processor has instructions for it; else as float32, whose products and
    sums are the same.
    """

    name: ClassVar[str] = "tiled"
    summary: ClassVar[str] = "dense matmuls over row tiles of each group, in pure JAX; for CPU"
    arithmetic: ClassVar[Arithmetic] = FLOAT32_ACCUMULATION

    narrow: bool = field(default_factory=lambda: host_cpu().bfloat16)

    def refusal(self, request: MatmulRequest) -> str | None:
        if request.platform == "cpu":
            return None
        return f"it runs one small matmul after another, which is made for CPU and untested on {request.platform}"

    def forward(self, lhs: Rows, rhs: Matrices, group_sizes: Sizes) -> Sums[Array, "m n"]:
        return rows_product(lhs, rhs, group_sizes, rhs_axis=0, narrow=self.narrow)

    def grad_lhs(self, cotangent: Cotangent, rhs: Matrices, group_sizes: Sizes) -> Sums[Array, "m k"]:
        return rows_product(cotangent, rhs, group_sizes, rhs_axis=1, narrow=self.narrow)

    def grad_rhs(self, lhs: Rows, cotangent: Cotangent, group_sizes: Sizes) -> Sums[Array, "g k n"]:
        return groups_product(lhs, cotangent, group_sizes, narrow=self.narrow)
