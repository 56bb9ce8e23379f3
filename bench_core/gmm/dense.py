"""One group: a plain matmul behind the grouped protocol. The shared expert runs on it."""

from typing import ClassVar, final

import jax

from bench_core.arrays import Array, Float, Int32, Sums
from bench_core.gmm.arithmetic import FLOAT32_ACCUMULATION, Arithmetic
from bench_core.gmm.base import GroupedMatmul, MatmulRequest, matmul_precision
from bench_core.quant.sums import sum_dtype


def _product(lhs: Float[Array, "..."], rhs: Float[Array, "..."], axes: tuple[int, int]) -> Sums[Array, "..."]:
    lhs_axis, rhs_axis = axes
    return jax.lax.dot_general(
        lhs,
        rhs,
        (((lhs_axis,), (rhs_axis,)), ((), ())),
        precision=matmul_precision(lhs),
        preferred_element_type=sum_dtype(lhs.dtype),
    )


@final
class DenseMatmul(GroupedMatmul):
    """Serves exactly one group that owns every row. Not in the registry: no routed case has that shape."""

    name: ClassVar[str] = "dense"
    summary: ClassVar[str] = "jax.lax.dot_general over one group"
    arithmetic: ClassVar[Arithmetic] = FLOAT32_ACCUMULATION

    def refusal(self, request: MatmulRequest) -> str | None:
        return "serves one group only; it computes the shared expert"

    def forward(
        self, lhs: Float[Array, "m k"], rhs: Float[Array, "1 k n"], group_sizes: Int32[Array, " 1"]
    ) -> Sums[Array, "m n"]:
        return _product(lhs, rhs[0], (1, 0))

    def grad_lhs(
        self, cotangent: Float[Array, "m n"], rhs: Float[Array, "1 k n"], group_sizes: Int32[Array, " 1"]
    ) -> Sums[Array, "m k"]:
        return _product(cotangent, rhs[0], (1, 1))

    def grad_rhs(
        self, lhs: Float[Array, "m k"], cotangent: Float[Array, "m n"], group_sizes: Int32[Array, " 1"]
    ) -> Sums[Array, "1 k n"]:
        return _product(lhs, cotangent, (0, 0))[None]
