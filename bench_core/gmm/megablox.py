"""JAX's megablox: the grouped matmul as a Pallas kernel for TPU."""

import importlib
from dataclasses import dataclass
from typing import Any, ClassVar, final

import jax
import jax.numpy as jnp

from bench_core.arrays import Array, Float, Sums
from bench_core.errors import UnsupportedCase
from bench_core.gmm.base import (
    FLOAT32_ACCUMULATION,
    Arithmetic,
    Cotangent,
    GroupedMatmul,
    MatmulRequest,
    Matrices,
    Rows,
    Sizes,
    kernel_refusal,
    matmul_precision,
)
from bench_core.gmm.tile import Tile
from bench_core.gmm.varying import traced_apart, varies_over

# The package has a function of this name, which hides the module that also has `tgmm`. JAX leaves both without types.
_kernels: Any = importlib.import_module("jax.experimental.pallas.ops.tpu.megablox.gmm")

MOST_ROW_TILES = 2048
"""The kernel finds the tile in which a group starts by a float32 histogram with T bins over 0 .. T - 1. The bin of
tile T - 2 ends only 1 / T above it: at 2048 tiles that is 4 units in the last place, which the roundings of an edge do
not use up. At 3183 they do: the kernel then multiplies rows by the matrix of another group."""


def tells_apart(tiles: int) -> bool:
    """Whether the kernel's histogram is right for this number of row tiles.

    At a power of two the edges i (T - 1) / T are exact as long as i (T - 1) has at most 24 bits.
    """
    exact = tiles & (tiles - 1) == 0 and tiles * (tiles - 1) < 2**24
    return tiles <= MOST_ROW_TILES or exact


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Megablox(GroupedMatmul):
    """`gmm` for rows, `tgmm` for the gradient of the matrices, with one tile for all three products.

    In each product M are the rows, K is the contracted width and N are the columns; in `grad_rhs`, where the rows are
    contracted, K and N are the two sides of a result. K and N may exceed a product's sizes or be no divisor of them:
    the kernel masks what is over. Rows are padded with zeros to whole tiles here, because the kernel refuses others.

    Sums over the tiles of K, or of M in `grad_rhs`, are kept in float32, so that the error bound is that of any order
    of summation. `interpret` runs the same kernel as plain XLA operations, block after block: for a CPU, where it says
    that the result is right and nothing about time.
    """

    name: ClassVar[str] = "gmm"
    summary: ClassVar[str] = "jax.experimental.pallas.ops.tpu.megablox, a Pallas kernel for TPU"
    arithmetic: ClassVar[Arithmetic] = FLOAT32_ACCUMULATION

    tile: Tile
    interpret: bool

    def refusal(self, request: MatmulRequest) -> str | None:
        return kernel_refusal(request, interpret=self.interpret, platform="tpu", needs="a TPU")

    def rows_refusal(self, rows: int) -> str | None:
        tiles = self._tiles(rows)
        if tells_apart(tiles):
            return None
        return f"of {tiles} tiles of rows the kernel mistakes one for another; it tells {MOST_ROW_TILES} apart"

    def _tiles(self, rows: int) -> int:
        return -(-rows // self.tile.m)

    def ran(self) -> str:
        mode = "in interpret mode on CPU: correctness only" if self.interpret else f"compiled with tile {self.tile}"
        return f"{self.summary}, {mode}"

    def forward(self, lhs: Rows, rhs: Matrices, group_sizes: Sizes) -> Sums[Array, "m n"]:
        return self._rows_product(lhs, rhs, group_sizes, transpose_rhs=False)

    def grad_lhs(self, cotangent: Cotangent, rhs: Matrices, group_sizes: Sizes) -> Sums[Array, "m k"]:
        return self._rows_product(cotangent, rhs, group_sizes, transpose_rhs=True)

    def grad_rhs(self, lhs: Rows, cotangent: Cotangent, group_sizes: Sizes) -> Sums[Array, "g k n"]:
        """The kernel visits empty groups too, to write their zeros, and leaves rows past the last group out."""
        if lhs.shape[0] == 0:
            return jnp.zeros((group_sizes.shape[0], lhs.shape[1], cotangent.shape[1]), jnp.float32)
        rows, cotangents = self._whole_tiles(lhs), self._whole_tiles(cotangent)
        return self._call("tgmm", rows.swapaxes(0, 1), cotangents, group_sizes)

    def _rows_product(
        self, lhs: Float[Array, "m c"], rhs: Float[Array, "g _ _"], group_sizes: Sizes, *, transpose_rhs: bool
    ) -> Sums[Array, "m _"]:
        rows = lhs.shape[0]
        if rows == 0:
            return jnp.zeros((0, rhs.shape[1 if transpose_rhs else 2]), jnp.float32)
        out: Array = self._call("gmm", self._whole_tiles(lhs), rhs, group_sizes, transpose_rhs=transpose_rhs)[:rows]
        # The kernel does not write rows past the last group: they hold whatever the memory held.
        owned = jnp.arange(rows, dtype=jnp.int32)[:, None] < jnp.sum(group_sizes)
        return jnp.where(owned, out, 0.0)

    def _whole_tiles(self, array: Float[Array, "m c"]) -> Float[Array, "padded c"]:
        """Append rows of zeros up to a multiple of the tile.

        Raises:
            UnsupportedCase: there are more tiles than the kernel can tell apart.
        """
        tiles, refusal = self._tiles(array.shape[0]), self.rows_refusal(array.shape[0])
        if refusal is not None:
            enough = self.tile.m * -(-tiles // MOST_ROW_TILES)
            raise UnsupportedCase(
                f"backend gmm cannot serve {array.shape[0]} rows with --tile {self.tile}",
                cause=refusal,
                hint=f"use --tile {Tile(m=enough, k=self.tile.k, n=self.tile.n)}",
            )
        # Zeros of the array's own dtype: published code padded bfloat16 with a float32 zero, which JAX refuses.
        return jnp.pad(array, ((0, tiles * self.tile.m - array.shape[0]), (0, 0)))

    def _call(self, kernel: str, *operands: Array, transpose_rhs: bool | None = None) -> Array:
        product = _Kernel(name=kernel, tile=self.tile, interpret=self.interpret, transpose_rhs=transpose_rhs)
        if not any(map(varies_over, operands)):
            return product(*operands)
        # Their results do not say that they differ between devices.
        return traced_apart(product, operands, platform="cpu" if self.interpret else "tpu")


@final
@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
class _Kernel:
    """One of the module's kernels with all that is static about it."""

    name: str
    tile: Tile
    interpret: bool
    transpose_rhs: bool | None

    def __call__(self, lhs: Array, rhs: Array, group_sizes: Array) -> Array:
        transposed = {} if self.transpose_rhs is None else {"transpose_rhs": self.transpose_rhs}
        # The kernels take no precision and use the ambient one, when they are traced.
        with jax.default_matmul_precision(matmul_precision(lhs).name.lower()):
            return getattr(_kernels, self.name)(
                lhs,
                rhs,
                group_sizes,
                preferred_element_type=jnp.float32,
                tiling=(self.tile.m, self.tile.k, self.tile.n),
                interpret=self.interpret,
                **transposed,
            )
