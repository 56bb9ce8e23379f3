"""The grouped matmul for CPUs: small dense matmuls over the rows that each group really has."""

from dataclasses import dataclass
from typing import ClassVar, final

from jaxtyping import Array, Float, Int32

from bench_core.gmm.arithmetic import FLOAT32_ACCUMULATION, Arithmetic
from bench_core.gmm.base import GroupedMatmul, MatmulRequest
from bench_core.gmm.gated import GatedExperts, GatedGradients, GatedInputs
from bench_core.gmm.tile import RowSizes
from bench_core.gmm.tiled_gated import RowTiles, gated_rows
from bench_core.gmm.tiled_gated_grad import gated_gradients
from bench_core.gmm.tiled_loops import groups_product, rows_product
from bench_core.quant.sums import Sums


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Tiled(GroupedMatmul, GatedExperts):
    """Equals `jax.lax.ragged_dot_general`, at a cost that does not grow with the number of groups.

    Rows that a mask sets to zero add exact zeros, so the error bound is that of the group's own terms. `row_tiles`: see
    `tiled_ladder.ladder`.
    """

    name: ClassVar[str] = "tiled"
    summary: ClassVar[str] = "dense matmuls over row tiles of each group, in pure JAX; for CPU"
    arithmetic: ClassVar[Arithmetic] = FLOAT32_ACCUMULATION
    skips_rows: ClassVar[bool] = True

    row_tiles: RowSizes | None = None

    def ran(self) -> str:
        return self.summary if self.row_tiles is None else f"{self.summary}; tiles of {self.row_tiles} rows"

    def refusal(self, request: MatmulRequest) -> str | None:
        if request.platform == "cpu":
            return None
        return f"it runs one small matmul after another, which is made for CPU and untested on {request.platform}"

    def forward(
        self, lhs: Float[Array, "m k"], rhs: Float[Array, "g k n"], group_sizes: Int32[Array, " g"]
    ) -> Sums[Array, "m n"]:
        return rows_product(lhs, rhs, group_sizes, rhs_axis=0, row_tiles=self.row_tiles)

    def grad_lhs(
        self, cotangent: Float[Array, "m n"], rhs: Float[Array, "g k n"], group_sizes: Int32[Array, " g"]
    ) -> Sums[Array, "m k"]:
        return rows_product(cotangent, rhs, group_sizes, rhs_axis=1, row_tiles=self.row_tiles)

    def grad_rhs(
        self, lhs: Float[Array, "m k"], cotangent: Float[Array, "m n"], group_sizes: Int32[Array, " g"]
    ) -> Sums[Array, "g k n"]:
        return groups_product(lhs, cotangent, group_sizes, row_tiles=self.row_tiles)

    def gated_forward(
        self, inputs: GatedInputs, *, keep: bool
    ) -> tuple[Sums[Array, "padded hidden"], tuple[Sums[Array, "padded _"], ...]]:
        return gated_rows(inputs, RowTiles.of(inputs, self.row_tiles), keep=keep)

    def gated_backward(
        self, inputs: GatedInputs, kept: tuple[Sums[Array, "padded _"], ...], cotangent: Sums[Array, "tokens hidden"]
    ) -> GatedGradients:
        return gated_gradients(inputs, RowTiles.of(inputs, self.row_tiles), kept, cotangent)
