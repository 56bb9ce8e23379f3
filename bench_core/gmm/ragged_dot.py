"""`jax.lax.ragged_dot`: the grouped matmul that JAX brings along, on every platform."""

from dataclasses import dataclass
from typing import ClassVar, final

import jax

from bench_core.arrays import Array, Float, Int32, Sums
from bench_core.gmm.base import (
    FLOAT32_ACCUMULATION,
    Arithmetic,
    Cotangent,
    GroupedMatmul,
    MatmulRequest,
    Matrices,
    Rows,
    Sizes,
    matmul_precision,
)
from bench_core.quant import sum_dtype


def ragged_dimensions(lhs_axis: int, rhs_axis: int, *, grouped_rhs: bool) -> jax.lax.RaggedDotDimensionNumbers:
    """Contract `lhs_axis` with `rhs_axis`; rows of the left operand are ragged."""
    return jax.lax.RaggedDotDimensionNumbers(
        dot_dimension_numbers=(((lhs_axis,), (rhs_axis,)), ((), ())),
        lhs_ragged_dimensions=[0],
        rhs_group_dimensions=[0] if grouped_rhs else [],
    )


def _product(
    lhs: Float[Array, "..."],
    rhs: Float[Array, "..."],
    group_sizes: Int32[Array, " g"],
    dimensions: jax.lax.RaggedDotDimensionNumbers,
) -> Sums[Array, "..."]:
    return jax.lax.ragged_dot_general(
        lhs,
        rhs,
        group_sizes,
        ragged_dot_dimension_numbers=dimensions,
        precision=matmul_precision(lhs),
        preferred_element_type=sum_dtype(lhs.dtype),
    )


@final
@dataclass(frozen=True, slots=True)
class RaggedDot(GroupedMatmul):
    """On CPU, XLA masks and multiplies by every expert, so this costs `experts` times the model FLOPs
    there: a baseline, not a fast path. The zeros that this adds to a sum are exact, so the error bound is
    that of the group's own terms.
    """

    name: ClassVar[str] = "ragged_dot"
    summary: ClassVar[str] = "jax.lax.ragged_dot_general, as XLA lowers it"
    arithmetic: ClassVar[Arithmetic] = FLOAT32_ACCUMULATION

    def refusal(self, request: MatmulRequest) -> str | None:
        return None

    def forward(self, lhs: Rows, rhs: Matrices, group_sizes: Sizes) -> Sums[Array, "m n"]:
        return _product(lhs, rhs, group_sizes, ragged_dimensions(1, 1, grouped_rhs=True))

    def grad_lhs(self, cotangent: Cotangent, rhs: Matrices, group_sizes: Sizes) -> Sums[Array, "m k"]:
        return _product(cotangent, rhs, group_sizes, ragged_dimensions(1, 2, grouped_rhs=True))

    def grad_rhs(self, lhs: Rows, cotangent: Cotangent, group_sizes: Sizes) -> Sums[Array, "g k n"]:
        return _product(lhs, cotangent, group_sizes, ragged_dimensions(0, 0, grouped_rhs=False))
