"""How the kernels of `pallas_gpu` cut a product into tiles: sizes, which tile has which rows, loads, stores, and the
call of a kernel, each program of which computes one tile of the result."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from bench_core.arrays import Array, Bool, Float, Float32, Int32
from bench_core.gmm.base import matmul_precision
from bench_core.gmm.varying import traced_apart, varies_over

Kernel = Callable[..., None]

Ref = Any
"""An array in the GPU's memory, as a kernel sees it. JAX has no public type for it."""
Index = Any
"""A dynamic slice or an array of indices along one axis. JAX has no public type for either."""

SMALLEST = 16
"""Triton multiplies no blocks with a smaller side."""
_BAND = 8
"""So many tiles along the first axis are computed together before the next along the second: their operands are read
from the GPU's cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """Sizes of one tile of a product: `m` rows and `n` columns of the result, `k` of what is summed at a time.

    Each is a power of two and at least 16, as Triton asks for. `warps` compute a tile together, and `stages` blocks of
    its operands are in flight at once. `interpret`: the kernel runs on a CPU, as XLA operations.
    """

    m: int
    n: int
    k: int
    warps: int
    stages: int
    interpret: bool = False

    def within(self, *, m: int, n: int, k: int) -> "Blocks":
        """The same, with no side larger than it takes for a product of these sizes."""

        def side(block: int, size: int) -> int:
            return min(block, max(SMALLEST, 1 << max(size - 1, 0).bit_length()))

        return replace(self, m=side(self.m, m), n=side(self.n, n), k=side(self.k, k))


class RowTiles(NamedTuple):
    """Which rows each tile has: [start, start + m) below `end`, all of one group.

    The rows past the last group are tiles of one more group, whose number is that of all groups. Tiles that are not
    needed come last, and have no row.
    """

    group: Int32[Array, " tiles"]
    start: Int32[Array, " tiles"]
    end: Int32[Array, " tiles"]


def row_tiles(group_sizes: Int32[Array, " g"], rows: int, size: int) -> RowTiles:
    """Tiles of at most `size` of `rows` rows. Those of a group begin at its first row.

    Sizes are known only at run time, so there are as many tiles as any sizes may need: a group that has r rows needs
    ceil(r / size), which sum to at most (rows + groups * (size - 1)) / size.
    """
    rest = rows - jnp.sum(group_sizes, keepdims=True)
    sizes = jnp.concatenate([group_sizes, rest]).astype(jnp.int32)
    groups = min(sizes.shape[0], rows)
    number = jnp.arange((rows + groups * (size - 1)) // size, dtype=jnp.int32)
    row_ends = jnp.cumsum(sizes, dtype=jnp.int32)
    needed = -(-sizes // size)
    tile_ends = jnp.cumsum(needed, dtype=jnp.int32)
    group = jnp.sum(number[:, None] >= tile_ends, axis=1, dtype=jnp.int32)
    own = jnp.minimum(group, sizes.shape[0] - 1)
    start = (row_ends - sizes)[own] + (number - (tile_ends - needed)[own]) * size
    end = row_ends[own]
    return RowTiles(group=own, start=jnp.minimum(start, end), end=end)


def ordered(number: Int32[Array, ""], first: int, second: int) -> tuple[Int32[Array, ""], Int32[Array, ""]]:
    """The place of tile `number` among first x second tiles, which are computed in bands along the first axis."""
    in_band = _BAND * second
    band = jax.lax.div(number, jnp.int32(in_band))
    within = jax.lax.rem(number, jnp.int32(in_band))
    height = jnp.minimum(first - band * _BAND, _BAND)
    return band * _BAND + jax.lax.rem(within, height), jax.lax.div(within, height)


class Part(NamedTuple):
    """The indices [start, start + size) along one axis, of which those below `end` are meant; None: all of them."""

    start: Int32[Array, ""] | int
    size: int
    end: Int32[Array, ""] | int | None

    @classmethod
    def number(cls, index: Int32[Array, ""], size: int, whole: int) -> "Part":
        """Block `index` of an axis that is `whole` long."""
        return cls(start=index * size, size=size, end=whole if whole % size else None)

    @property
    def indices(self) -> Int32[Array, " size"]:
        return self.start + jnp.arange(self.size, dtype=jnp.int32)

    def shifted(self, by: int) -> "Part":
        """The same part of what begins `by` indices later."""
        return Part(start=self.start + by, size=self.size, end=None if self.end is None else self.end + by)


def mask_of(first: Part, second: Part) -> Bool[Array, "a b"] | None:
    """Which elements of a block are meant; None: all of them."""
    masks = []
    if first.end is not None:
        masks.append((first.indices < first.end)[:, None])
    if second.end is not None:
        masks.append((second.indices < second.end)[None, :])
    if not masks:
        return None
    return jnp.broadcast_to(functools.reduce(jnp.logical_and, masks), (first.size, second.size))


def load(
    ref: Ref, first: Part, second: Part, *, at: Int32[Array, ""] | None = None, rows: Int32[Array, " a"] | None = None
) -> Float[Array, "a b"]:
    """A block of an array, or of its matrix `at`. What is not meant is zero, and is not read.

    `rows`: the rows to read, in the place of `first`, which says which of them are meant.
    """
    index: tuple[Index, ...] = tuple(pl.ds(part.start, part.size) for part in (first, second))
    if rows is not None:
        shape = (first.size, second.size)
        index = (jnp.broadcast_to(rows[:, None], shape), jnp.broadcast_to(second.indices[None, :], shape))
    if at is not None:
        index = (at, *index)
    mask = mask_of(first, second)
    other = None if mask is None else jnp.zeros((), ref.dtype)
    return triton.load(ref.at[index], mask=mask, other=other)


def load_row_values(ref: Ref, part: Part) -> Array:
    """Elements of a vector, zero where none is meant."""
    mask = None if part.end is None else part.indices < part.end
    other = None if mask is None else jnp.zeros((), ref.dtype)
    return triton.load(ref.at[pl.ds(part.start, part.size)], mask=mask, other=other)


def store(
    ref: Ref, block: Float[Array, "a b"], first: Part, second: Part, *, at: Int32[Array, ""] | None = None
) -> None:
    """Write a block of an array, or of its matrix `at`, in the array's dtype."""
    index: tuple[Index, ...] = tuple(pl.ds(part.start, part.size) for part in (first, second))
    if at is not None:
        index = (at, *index)
    triton.store(ref.at[index], block.astype(ref.dtype), mask=mask_of(first, second))


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
        return jax.lax.fori_loop(0, steps, step, sums)


def multiplied(
    left: Float[Array, "m k"], right: Float[Array, "..."], *, transposed: bool = False
) -> Float32[Array, "m n"]:
    """left @ right, or left @ right.T, of two blocks."""
    return triton.dot(left, right, trans_b=transposed, precision=matmul_precision(left))


def launch(
    kernel: Kernel,
    operands: Sequence[Array],
    results: Sequence[tuple[tuple[int, ...], Any]],
    *,
    programs: Sequence[int],
    blocks: Blocks,
) -> tuple[Array, ...]:
    """Run the kernel over operands and results, which are shapes and dtypes, once for each program.

    In a `shard_map` the results vary over what the operands vary over.
    """
    axes = frozenset[str]().union(*map(varies_over, operands))

    def call(*arguments: Array, axes: frozenset[str] = frozenset()) -> tuple[Array, ...]:
        shapes = [_shaped(shape, dtype, axes) for shape, dtype in results]
        called = pl.pallas_call(
            kernel,
            out_shape=shapes,
            grid=(functools.reduce(lambda a, b: a * b, programs),),
            compiler_params=triton.CompilerParams(num_warps=blocks.warps, num_stages=blocks.stages),
            interpret=blocks.interpret,
        )
        return tuple(called(*arguments))

    if axes and blocks.interpret:
        # What a kernel does inside is not made for such axes when it is interpreted.
        return traced_apart(call, operands, platform="cpu")
    return call(*operands, axes=axes)


def _shaped(shape: tuple[int, ...], dtype: Any, axes: frozenset[str]) -> Any:
    if not axes:
        return jax.ShapeDtypeStruct(shape, dtype)
    return jax.ShapeDtypeStruct(shape, dtype, manual_axis_type=jax.sharding.ManualAxisType(varying=axes))
