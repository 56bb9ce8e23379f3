"""Grouped products as loops over groups and, inside, over static row tiles.

The work is proportional to the rows, not to rows times groups. Buffers are not padded: a tile that would
reach beyond the last row is moved up instead.
bfloat16 operands are carried as their bits (see `tiled_bits`).
"""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, Shaped

from bench_core.gmm.tile import RowSizes
from bench_core.gmm.tiled_bits import bits, dot, valued
from bench_core.gmm.tiled_ladder import Tile, ladder
from bench_core.gmm.varying import varying_as
from bench_core.quant.sums import Sums, sum_dtype

_Carry = tuple[Array, Array]
"""The next row that is to be computed, int32 [], and the result so far, of the dtype of sums."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _RowsGroup:
    """One group of `rows_product`: its rows [start, end) of `lhs` (see `bits`; `dtype` is the operands'), its
    matrix, and the end of all groups."""

    lhs: Shaped[Array, "m c"]
    dtype: jnp.dtype
    matrix: Float[Array, "_ _"]
    matrix_axis: int
    start: Int32[Array, ""]
    end: Int32[Array, ""]
    total: Int32[Array, ""]

    def multiply(self, at: Int32[Array, ""], rows: int) -> Sums[Array, "tile _"]:
        """The product of rows [at, at + rows)."""
        return dot(valued(_tile(self.lhs, at, rows), self.dtype), self.matrix, (1, self.matrix_axis))

    def larger_tiles(self, tile: Tile, carry: _Carry) -> _Carry:
        """Take `tile` as long as it is worth it.

        What it writes beyond the group's end is overwritten by the groups that follow. Beyond the end of all
        groups it would not be, so there the tile moves up, as far as the group's own rows allow.
        """

        def position(carry: _Carry) -> Array:
            return jnp.minimum(carry[0], self.total - tile.rows)

        def worthwhile(carry: _Carry) -> Array:
            return (self.end - carry[0] >= tile.least) & (position(carry) >= self.start)

        def take(carry: _Carry) -> _Carry:
            at = position(carry)
            out = jax.lax.dynamic_update_slice_in_dim(carry[1], self.multiply(at, tile.rows), at, axis=0)
            return at + tile.rows, out

        taken: _Carry = jax.lax.while_loop(worthwhile, take, carry)
        return taken

    def last_tiles(self, rows: int, carry: _Carry) -> _Carry:
        """Take the smallest tile for the rest. It writes the group's own rows only."""

        def take(carry: _Carry) -> _Carry:
            begin, out = carry
            at = jnp.minimum(begin, out.shape[0] - rows)
            before = jax.lax.dynamic_slice_in_dim(out, at, rows)
            after = jnp.where(_within(begin, self.end, at, rows), self.multiply(at, rows), before)
            return begin + rows, jax.lax.dynamic_update_slice_in_dim(out, after, at, axis=0)

        taken: _Carry = jax.lax.while_loop(lambda carry: carry[0] < self.end, take, carry)
        return taken


def rows_product(
    lhs: Float[Array, "m c"],
    rhs: Float[Array, "g _ _"],
    group_sizes: Int32[Array, " g"],
    *,
    rhs_axis: int,
    row_tiles: RowSizes | None = None,
) -> Sums[Array, "m _"]:
    """out[i] = lhs[i] contracted with axis `rhs_axis` (0 or 1) of rhs[group of i]."""
    groups, ends = rhs.shape[0], jnp.cumsum(group_sizes)
    *larger, last = ladder(lhs.shape[0], groups, row_tiles=row_tiles)
    lhs_bits, rhs_bits = bits(lhs), bits(rhs)

    def one_group(index: Array, out: Array) -> Array:
        group = _RowsGroup(
            lhs=lhs_bits,
            dtype=lhs.dtype,
            matrix=valued(jax.lax.dynamic_index_in_dim(rhs_bits, index, keepdims=False), rhs.dtype),
            matrix_axis=rhs_axis,
            start=ends[index] - group_sizes[index],
            end=ends[index],
            total=ends[-1],
        )
        carry = (group.start, out)
        for tile in larger:
            carry = group.larger_tiles(tile, carry)
        return group.last_tiles(last.rows, carry)[1]

    zeros = varying_as(jnp.zeros((lhs.shape[0], rhs.shape[2 - rhs_axis]), sum_dtype(lhs.dtype)), lhs, rhs, group_sizes)
    out: Array = jax.lax.fori_loop(0, groups, one_group, zeros)
    return out


def groups_product(
    lhs: Float[Array, "m k"],
    rhs: Float[Array, "m n"],
    group_sizes: Int32[Array, " g"],
    *,
    row_tiles: RowSizes | None = None,
) -> Sums[Array, "g k n"]:
    """out[g] = lhs[rows of g].T @ rhs[rows of g].

    The first tile of a group makes its result, further ones add to it: a group of one tile, the usual one
    when there are many, never reads a [k, n] array that it has written.
    """
    tiles = ladder(lhs.shape[0], group_sizes.shape[0], row_tiles=row_tiles)
    leasts = jnp.array([tile.least for tile in tiles[:-1]], jnp.int32)
    rows = jnp.array([tile.rows for tile in tiles], jnp.int32)

    def one_group(bounds: tuple[Array, Array]) -> Array:
        start, end = bounds
        first = jnp.sum(end - start < leasts)
        products = [functools.partial(_masked_product, bits(lhs), bits(rhs), lhs.dtype, tile.rows) for tile in tiles]
        carry: _Carry = (start + rows[first], jax.lax.switch(first, products, start, end))
        for tile, product in zip(tiles, products, strict=True):
            carry = _accumulate(tile, product, end, carry)
        return carry[1]

    ends = jnp.cumsum(group_sizes)
    out: Array = jax.lax.map(one_group, (ends - group_sizes, ends))
    return out


def _accumulate(tile: Tile, product: "functools.partial[Array]", end: Int32[Array, ""], carry: _Carry) -> _Carry:
    """Add the products of `tile`s as long as one is worth it."""
    taken: _Carry = jax.lax.while_loop(
        lambda carry: end - carry[0] >= tile.least,
        lambda carry: (carry[0] + tile.rows, carry[1] + product(carry[0], end)),
        carry,
    )
    return taken


def _masked_product(
    lhs: Shaped[Array, "m k"],
    rhs: Shaped[Array, "m n"],
    dtype: jnp.dtype,
    rows: int,
    begin: Int32[Array, ""],
    end: Int32[Array, ""],
) -> Sums[Array, "k n"]:
    """lhs.T @ rhs over those of the rows [begin, begin + rows) that lie before `end`; operands as `bits` has them.

    Both operands are masked: zero times the infinity of another group's row is not zero.
    """
    at = jnp.minimum(begin, lhs.shape[0] - rows)
    keep = _within(begin, end, at, rows)
    left, right = (_tile(operand, at, rows) for operand in (lhs, rhs))
    # A zero of the operand's own type: all bits of the number zero are zero.
    left, right = (valued(jnp.where(keep, tile, jnp.zeros((), tile.dtype)), dtype) for tile in (left, right))
    return dot(left, right, (0, 0))


def _within(begin: Int32[Array, ""], end: Int32[Array, ""], at: Int32[Array, ""], rows: int) -> Bool[Array, "tile 1"]:
    """Which of the rows [at, at + rows) lie in [begin, end)."""
    index = at + jnp.arange(rows, dtype=jnp.int32)[:, None]
    return (index >= begin) & (index < end)


def _tile(array: Shaped[Array, "m c"], at: Int32[Array, ""], rows: int) -> Shaped[Array, "tile c"]:
    return jax.lax.dynamic_slice_in_dim(array, at, rows)
