"""The grouped matmul for GPUs: Pallas kernels of this project, which JAX compiles through Triton."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, final

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

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
    kernel_refusal,
    matmul_precision,
)
from bench_core.gmm.pallas_gpu_tiles import Blocks, Part, Ref, RowsGrid, launch, load, multiplied, ordered, store
from bench_core.shapes import DType

DEFAULT_BLOCKS: Mapping[DType, Blocks] = MappingProxyType(
    {
        # Tensor cores: 128 registers of sums for each thread, and 48 KiB of operands for each stage.
        DType.BFLOAT16: Blocks(m=128, n=256, k=64, warps=8, stages=4),
        # Full precision has no tensor cores: a tile is as large as its sums find registers.
        DType.FLOAT32: Blocks(m=64, n=64, k=32, warps=4, stages=2),
    }
)
"""They fit the registers and the shared memory of compute capability 9.0."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PallasGpu(GroupedMatmul):
    """Every tile of the result has rows of one group alone, so a group costs at most one tile's rows more than it has.

    Sums are float32, float32 operands are multiplied in full precision. What is over the sizes of a product is masked.
    `interpret` runs the same kernels on a CPU as plain XLA operations, tile after tile, where they say that the result
    is right and nothing about time.
    """

    name: ClassVar[str] = "pallas_gpu"
    summary: ClassVar[str] = "Pallas kernels for GPUs, through Triton"
    arithmetic: ClassVar[Arithmetic] = FLOAT32_ACCUMULATION

    interpret: bool
    blocks: Blocks | None = None
    """None: those of the dtype."""

    def refusal(self, request: MatmulRequest) -> str | None:
        return kernel_refusal(request, interpret=self.interpret, platform="gpu", needs="an NVIDIA GPU")

    def ran(self) -> str:
        return f"{self.summary}, in interpret mode on CPU: correctness only" if self.interpret else self.summary

    def forward(self, lhs: Rows, rhs: Matrices, group_sizes: Sizes) -> Sums[Array, "m n"]:
        return rows_product([(lhs, rhs)], group_sizes, transposed=False, blocks=self.blocks_for(lhs))

    def grad_lhs(self, cotangent: Cotangent, rhs: Matrices, group_sizes: Sizes) -> Sums[Array, "m k"]:
        blocks = self.blocks_for(cotangent)
        return rows_product([(cotangent, rhs)], group_sizes, transposed=True, blocks=blocks)

    def grad_rhs(self, lhs: Rows, cotangent: Cotangent, group_sizes: Sizes) -> Sums[Array, "g k n"]:
        return groups_product(lhs, cotangent, group_sizes, dtype=jnp.float32, blocks=self.blocks_for(lhs))

    def blocks_for(self, operand: Float[Array, "..."]) -> Blocks:
        """Those of a product with this operand."""
        return replace(self.blocks or DEFAULT_BLOCKS[DType(operand.dtype.name)], interpret=self.interpret)


def rows_product(
    pairs: Sequence[tuple[Float[Array, "m _"], Float[Array, "g _ _"]]],
    group_sizes: Int32[Array, " g"],
    *,
    transposed: bool,
    dtype: Any = jnp.float32,
    blocks: Blocks,
) -> Float[Array, "m n"]:
    """out[i] = sum over the pairs of lhs[i] @ rhs[group of i], or of rhs[group of i].T; zero past the groups' rows.

    Sums are float32; the result is rounded to `dtype`.
    """
    rows = pairs[0][0].shape[0]
    width = pairs[0][1].shape[1 if transposed else 2]
    if rows == 0:
        return jnp.zeros((0, width), dtype)
    grid = RowsGrid.of(rows, width, max(lhs.shape[1] for lhs, _ in pairs), group_sizes, blocks)

    def kernel(group_ref: Ref, start_ref: Ref, end_ref: Ref, *refs: Ref) -> None:
        *operands, out = refs
        place = grid.place(group_ref, start_ref, end_ref)
        sums: tuple[Array, ...] = (grid.zeros(),)
        for lhs, rhs in zip(operands[::2], operands[1::2], strict=True):

            def products(inner: Part, sums: tuple[Array, ...], lhs: Ref = lhs, rhs: Ref = rhs) -> tuple[Array, ...]:
                left = load(lhs, place.rows, inner)
                sides = (place.columns, inner) if transposed else (inner, place.columns)
                return (sums[0] + multiplied(left, load(rhs, *sides, at=place.group), transposed=transposed),)

            sums = grid.summed(place, lhs.shape[1], products, sums)
        store(out, sums[0], place.rows, place.columns)

    operands = [*grid.tiles, *(operand for pair in pairs for operand in pair)]
    (out,) = launch(kernel, operands, [((rows, width), dtype)], programs=grid.shape, blocks=grid.blocks)
    return out


def groups_product(
    lhs: Rows, cotangent: Cotangent, group_sizes: Sizes, *, dtype: Any, blocks: Blocks
) -> Float[Array, "g k n"]:
    """out[g] = lhs[rows of g].T @ cotangent[rows of g], summed in float32, rounded to `dtype`; zeros for an empty
    group.

    `blocks.m` and `blocks.n` are rows and columns of a matrix of the result, `blocks.k` rows that are summed at a time.
    """
    (rows, height), width, groups = lhs.shape, cotangent.shape[1], group_sizes.shape[0]
    if rows == 0:
        return jnp.zeros((groups, height, width), dtype)
    own = blocks.within(m=height, n=width, k=rows)
    ends = jnp.cumsum(group_sizes, dtype=jnp.int32)
    per_group = (pl.cdiv(height, own.m), pl.cdiv(width, own.n))

    def kernel(start_ref: Ref, end_ref: Ref, lhs_ref: Ref, cotangent_ref: Ref, out: Ref) -> None:
        tiles = jnp.int32(per_group[0] * per_group[1])
        group = jax.lax.div(pl.program_id(0), tiles)
        first, second = ordered(jax.lax.rem(pl.program_id(0), tiles), *per_group)
        down, across = Part.number(first, own.m, height), Part.number(second, own.n, width)
        start, end = start_ref[group], end_ref[group]

        def step(number: Array, total: Array) -> Array:
            # Both operands have zeros in the place of other groups' rows: zero times an infinity is not zero.
            part = Part(start=start + number * own.k, size=own.k, end=end)
            left, right = load(lhs_ref, part, down), load(cotangent_ref, part, across)
            product: Array = triton.dot(left, right, trans_a=True, precision=matmul_precision(left))
            return total + product

        steps = jax.lax.div(end - start + (own.k - 1), jnp.int32(own.k))
        total = jax.lax.fori_loop(0, steps, step, jnp.zeros((own.m, own.n), jnp.float32))
        store(out, total, down, across, at=group)

    (out,) = launch(
        kernel,
        [ends - group_sizes, ends, lhs, cotangent],
        [((groups, height, width), dtype)],
        programs=(groups, *per_group),
        blocks=own,
    )
    return out
