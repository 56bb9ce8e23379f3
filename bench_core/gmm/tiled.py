"""The grouped matmul for CPUs: small dense matmuls over the rows that each group really has."""

from typing import ClassVar, final

from jaxtyping import Array, Float, Float32, Int32

from bench_core.gmm.arithmetic import FLOAT32_ACCUMULATION, Arithmetic
from bench_core.gmm.base import GroupedMatmul, MatmulRequest
from bench_core.gmm.gated import ExpertRows, GatedExperts, GatedGradients
from bench_core.gmm.tiled_gated import gated_rows
from bench_core.gmm.tiled_gated_grad import gated_gradients
from bench_core.gmm.tiled_loops import groups_product, rows_product


@final
class Tiled(GroupedMatmul, GatedExperts):
    """Equals `jax.lax.ragged_dot_general`, at a cost that does not grow with the number of groups.

    Rows that a mask sets to zero add exact zeros, so the error bound is that of the group's own terms.
    """

    name: ClassVar[str] = "tiled"
    summary: ClassVar[str] = "dense matmuls over row tiles of each group, in pure JAX; for CPU"
    arithmetic: ClassVar[Arithmetic] = FLOAT32_ACCUMULATION

    def refusal(self, request: MatmulRequest) -> str | None:
        if request.platform == "cpu":
            return None
        return f"it runs one small matmul after another, which is made for CPU and untested on {request.platform}"

    def forward(
        self, lhs: Float[Array, "m k"], rhs: Float[Array, "g k n"], group_sizes: Int32[Array, " g"]
    ) -> Float32[Array, "m n"]:
        return rows_product(lhs, rhs, group_sizes, rhs_axis=0)

    def grad_lhs(
        self, cotangent: Float[Array, "m n"], rhs: Float[Array, "g k n"], group_sizes: Int32[Array, " g"]
    ) -> Float32[Array, "m k"]:
        return rows_product(cotangent, rhs, group_sizes, rhs_axis=1)

    def grad_rhs(
        self, lhs: Float[Array, "m k"], cotangent: Float[Array, "m n"], group_sizes: Int32[Array, " g"]
    ) -> Float32[Array, "g k n"]:
        return groups_product(lhs, cotangent, group_sizes)

    def gated_forward(
        self,
        x: Float[Array, "tokens hidden"],
        up_weights: tuple[Float[Array, "g hidden _"], ...],
        down_weights: Float[Array, "g mlp hidden"],
        rows: ExpertRows,
        *,
        preweight: bool,
        keep: bool,
    ) -> tuple[Float32[Array, "padded hidden"], tuple[Float32[Array, "padded _"], ...]]:
        return gated_rows(x, up_weights, down_weights, rows, preweight=preweight, keep=keep)

    def gated_backward(
        self,
        x: Float[Array, "tokens hidden"],
        up_weights: tuple[Float[Array, "g hidden _"], ...],
        down_weights: Float[Array, "g mlp hidden"],
        rows: ExpertRows,
        kept: tuple[Float32[Array, "padded _"], ...],
        cotangent: Float32[Array, "tokens hidden"],
        *,
        preweight: bool,
    ) -> GatedGradients:
        return gated_gradients(x, up_weights, down_weights, rows, kept, cotangent, preweight=preweight)
