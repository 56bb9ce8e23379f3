"""The grouped products as Pallas kernels for GPUs. Each program computes one tile of the result."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton
from jaxtyping import Array, Float, Float32, Int32

from bench_core.gmm.pallas_gpu_tiles import Blocks, Part, Ref, RowTiles, load, ordered, row_tiles, store
from bench_core.gmm.precision import matmul_precision
from bench_core.gmm.varying import traced_apart, varies_over

Kernel = Callable[..., None]

# JAX leaves these without types.
_shape: Callable[..., Any] = jax.ShapeDtypeStruct
_axis_type: Callable[..., Any] = jax.sharding.ManualAxisType


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What one program computes: rows of one group, and columns."""

    group: Int32[Array, ""]
    real: Any
    """Whether the group has a matrix; the rows past the last group have none. A traced bool."""
    rows: Part
    columns: Part


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsGrid:
    """The programs of a product whose result has a row for each row of its left operand.

    `blocks.m` are rows, `blocks.n` columns of the result, and `blocks.k` is the width that is summed at a time.
    """

    tiles: RowTiles
    groups: int
    width: int
    blocks: Blocks

    @classmethod
    def of(cls, rows: int, width: int, inner: int, group_sizes: Int32[Array, " g"], blocks: Blocks) -> "RowsGrid":
        own = blocks.within(m=rows, n=width, k=inner)
        return cls(tiles=row_tiles(group_sizes, rows, own.m), groups=group_sizes.shape[0], width=width, blocks=own)

    @property
    def shape(self) -> tuple[int, int]:
        return self.tiles.group.shape[0], pl.cdiv(self.width, self.blocks.n)

    def place(self, group_ref: Ref, start_ref: Ref, end_ref: Ref) -> Place:
        """That of the program that asks."""
        tile, column = ordered(pl.program_id(0), *self.shape)
        group = group_ref[tile]
        return Place(
            group=jnp.minimum(group, self.groups - 1),
            real=group < self.groups,
            rows=Part(start=start_ref[tile], size=self.blocks.m, end=end_ref[tile]),
            columns=Part.number(column, self.blocks.n, self.width),
        )

    def zeros(self) -> Float32[Array, "m n"]:
        return jnp.zeros((self.blocks.m, self.blocks.n), jnp.float32)

    def summed(
        self,
        place: Place,
        inner: int,
        products: Callable[[Part, tuple[Array, ...]], tuple[Array, ...]],
        sums: tuple[Float32[Array, "m n"], ...],
    ) -> tuple[Float32[Array, "m n"], ...]:
        """`sums` after `products` was called for each part of the inner width, if the place has a matrix."""
        size = self.blocks.k

        def step(number: Array, sums: tuple[Array, ...]) -> tuple[Array, ...]:
            return products(Part.number(number, size, inner), sums)

        steps = jnp.where(place.real, jnp.int32(pl.cdiv(inner, size)), 0)
        done: tuple[Array, ...] = jax.lax.fori_loop(0, steps, step, sums)
        return done


def multiplied(
    left: Float[Array, "m k"], right: Float[Array, "..."], *, transposed: bool = False
) -> Float32[Array, "m n"]:
    """left @ right, or left @ right.T, of two blocks."""
    product: Array = triton.dot(left, right, trans_b=transposed, precision=matmul_precision(left))
    return product


def rows_product(
    pairs: Sequence[tuple[Float[Array, "m _"], Float[Array, "g _ _"]]],
    group_sizes: Int32[Array, " g"],
    *,
    transposed: bool,
    dtype: Any = jnp.float32,
    blocks: Blocks,
    interpret: bool,
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
    (out,) = launch(
        kernel, operands, [((rows, width), dtype)], programs=grid.shape, blocks=grid.blocks, interpret=interpret
    )
    return out


def groups_product(
    lhs: Float[Array, "m k"],
    cotangent: Float[Array, "m n"],
    group_sizes: Int32[Array, " g"],
    *,
    dtype: Any,
    blocks: Blocks,
    interpret: bool,
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
        interpret=interpret,
    )
    return out


def launch(
    kernel: Kernel,
    operands: Sequence[Array],
    results: Sequence[tuple[tuple[int, ...], Any]],
    *,
    programs: Sequence[int],
    blocks: Blocks,
    interpret: bool,
) -> tuple[Array, ...]:
    """Run the kernel over operands and results, which are shapes and dtypes, once for each program.

    In a `shard_map` the results vary over what the operands vary over. `interpret`: on a CPU, as XLA operations.
    """
    axes = frozenset[str]().union(*map(varies_over, operands))

    def call(*arguments: Array, axes: frozenset[str] = frozenset()) -> tuple[Array, ...]:
        shapes = [_shaped(shape, dtype, axes) for shape, dtype in results]
        called: Callable[..., Any] = pl.pallas_call(
            kernel,
            out_shape=shapes,
            grid=(functools.reduce(lambda a, b: a * b, programs),),
            compiler_params=triton.CompilerParams(num_warps=blocks.warps, num_stages=blocks.stages),
            interpret=interpret,
        )
        return tuple(called(*arguments))

    if axes and interpret:
        # What a kernel does inside is not made for such axes when it is interpreted.
        return traced_apart(call, operands, platform="cpu")
    return call(*operands, axes=axes)


def _shaped(shape: tuple[int, ...], dtype: Any, axes: frozenset[str]) -> Any:
    if not axes:
        return _shape(shape, dtype)
    return _shape(shape, dtype, manual_axis_type=_axis_type(varying=axes))
