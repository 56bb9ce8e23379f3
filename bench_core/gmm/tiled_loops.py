"""Grouped products as loops over groups and, inside, over static row tiles; and what such loops have for operands.

The work is proportional to the rows, not to rows times groups. Buffers are not padded: a tile that would
reach beyond the last row is moved up instead.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from bench_core.arrays import Array, Bool, Float, Int, Int32, Shaped, Sums
from bench_core.gmm.base import matmul_precision
from bench_core.gmm.tile import RowSizes, Rung, ladder
from bench_core.gmm.varying import varying_as
from bench_core.quant.sums import round_to, sum_dtype

# JAX leaves this without types.
_barrier: Callable[..., Any] = jax.lax.optimization_barrier

# The bits of a bfloat16 that no arithmetic makes.
_ALL_BITS = 0xFFFF

_Carry = tuple[Array, Array]
"""The next row that is to be computed, int32 [], and the result so far, of the dtype of sums."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operands:
    """How the loops carry and multiply operands of `dtype`.

    bfloat16 is carried as its bits, unsigned 16-bit integers: XLA for CPU has no bfloat16 slice, it would widen whole
    operands to float32 before the loop, and narrow every slice again inside. `narrow`: it is multiplied as bfloat16;
    else as float32, which has the same products and sums.
    """

    dtype: jnp.dtype
    narrow: bool

    def carried(self, operand: Float[Array, "*shape"]) -> Shaped[Array, "*shape"]:
        """bfloat16 as uint16, bit by bit; others as they are."""
        return jax.lax.bitcast_convert_type(operand, jnp.uint16) if operand.dtype == jnp.bfloat16 else operand

    def valued(self, moved: Shaped[Array, "*shape"]) -> Float[Array, "*shape"]:
        """The inverse of `carried`."""
        return moved if moved.dtype == self.dtype else jax.lax.bitcast_convert_type(moved, self.dtype)

    def multiplied(self, moved: Shaped[Array, "*shape"]) -> Float[Array, "*shape"]:
        """What is carried, as `dot` takes it."""
        values = self.valued(moved)
        return values if self.narrow else values.astype(sum_dtype(self.dtype))

    def matrix(self, stacked: Float[Array, "g _ _"], index: Int[Array, ""]) -> Float[Array, "_ _"]:
        """Matrix `index`, as `dot` takes it.

        Of bfloat16 XLA would make the bits of all matrices before the loop; behind the barrier it makes those of one.
        """
        if stacked.dtype == jnp.bfloat16:
            stacked, index = _barrier((stacked, index))
        return self.multiplied(jax.lax.dynamic_index_in_dim(self.carried(stacked), index, keepdims=False))

    def rounded(self, sums: Sums[Array, "*shape"]) -> Float[Array, "*shape"]:
        """Sums that become an operand, as `dot` takes it."""
        values = round_to(sums, self.dtype)
        return values if self.narrow else values.astype(sum_dtype(self.dtype))

    def dot(self, lhs: Float[Array, "_ _"], rhs: Float[Array, "_ _"], axes: tuple[int, int]) -> Sums[Array, "_ _"]:
        """lhs contracted with rhs over one axis of each."""
        return jax.lax.dot_general(
            lhs,
            rhs,
            (((axes[0],), (axes[1],)), ((), ())),
            precision=matmul_precision(lhs),
            preferred_element_type=sum_dtype(self.dtype),
        )

    def rows_dot(self, lhs: Float[Array, "tile k"], rhs: Float[Array, "tile n"]) -> Sums[Array, "k n"]:
        """lhs.T @ rhs.

        XLA for CPU has bfloat16 kernels for what is contracted on the last axis of the left side, and widens the rest.
        It folds a transpose into the product unless it comes out of a loop whose length it cannot tell.
        """
        if lhs.dtype != jnp.bfloat16:
            return self.dot(lhs, rhs, (0, 0))
        moved = self.carried(lhs)
        # One turn, or two where the first number is a certain NaN: each gives the same, and no compiler can tell.
        turns = 1 + (moved[0, 0] == _ALL_BITS).astype(jnp.int32)
        zeros = varying_as(jnp.zeros(moved.shape[::-1], moved.dtype), lhs)
        turned = jax.lax.fori_loop(0, turns, lambda _, before: moved.T, zeros)
        return self.dot(self.valued(turned), rhs, (1, 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class _RowsGroup:
    """One group of `rows_product`: its rows [start, end) of `lhs` as `operands` carries it, its matrix, and the end of
    all groups."""

    operands: Operands
    lhs: Shaped[Array, "m c"]
    matrix: Float[Array, "_ _"]
    matrix_axis: int
    start: Int32[Array, ""]
    end: Int32[Array, ""]
    total: Int32[Array, ""]

    def multiply(self, at: Int32[Array, ""], rows: int) -> Sums[Array, "tile _"]:
        """The product of rows [at, at + rows)."""
        own = self.operands.multiplied(_tile(self.lhs, at, rows))
        return self.operands.dot(own, self.matrix, (1, self.matrix_axis))

    def larger_tiles(self, tile: Rung, carry: _Carry) -> _Carry:
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
    narrow: bool,
    row_tiles: RowSizes | None = None,
) -> Sums[Array, "m _"]:
    """out[i] = lhs[i] contracted with axis `rhs_axis` (0 or 1) of rhs[group of i]. `narrow`: see `Operands`."""
    groups, ends = rhs.shape[0], jnp.cumsum(group_sizes)
    *larger, last = ladder(lhs.shape[0], groups, row_tiles=row_tiles)
    operands = Operands(dtype=lhs.dtype, narrow=narrow)
    moved = operands.carried(lhs)

    def one_group(index: Array, out: Array) -> Array:
        group = _RowsGroup(
            operands=operands,
            lhs=moved,
            matrix=operands.matrix(rhs, index),
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
    narrow: bool,
    row_tiles: RowSizes | None = None,
) -> Sums[Array, "g k n"]:
    """out[g] = lhs[rows of g].T @ rhs[rows of g]. `narrow`: see `Operands`.

    The first tile of a group makes its result, further ones add to it: a group of one tile, the usual one
    when there are many, never reads a [k, n] array that it has written.
    """
    tiles = ladder(lhs.shape[0], group_sizes.shape[0], row_tiles=row_tiles)
    leasts = jnp.array([tile.least for tile in tiles[:-1]], jnp.int32)
    rows = jnp.array([tile.rows for tile in tiles], jnp.int32)
    operands = Operands(dtype=lhs.dtype, narrow=narrow)
    sides = operands.carried(lhs), operands.carried(rhs)

    def one_group(bounds: tuple[Array, Array]) -> Array:
        start, end = bounds
        first = jnp.sum(end - start < leasts)
        products = [functools.partial(_masked_product, operands, *sides, tile.rows) for tile in tiles]
        carry: _Carry = (start + rows[first], jax.lax.switch(first, products, start, end))
        for tile, product in zip(tiles, products, strict=True):
            carry = _accumulate(tile, product, end, carry)
        return carry[1]

    ends = jnp.cumsum(group_sizes)
    out: Array = jax.lax.map(one_group, (ends - group_sizes, ends))
    return out


def _accumulate(tile: Rung, product: "functools.partial[Array]", end: Int32[Array, ""], carry: _Carry) -> _Carry:
    """Add the products of `tile`s as long as one is worth it."""
    taken: _Carry = jax.lax.while_loop(
        lambda carry: end - carry[0] >= tile.least,
        lambda carry: (carry[0] + tile.rows, carry[1] + product(carry[0], end)),
        carry,
    )
    return taken


def _masked_product(
    operands: Operands,
    lhs: Shaped[Array, "m k"],
    rhs: Shaped[Array, "m n"],
    rows: int,
    begin: Int32[Array, ""],
    end: Int32[Array, ""],
) -> Sums[Array, "k n"]:
    """lhs.T @ rhs over those of the rows [begin, begin + rows) that lie before `end`; both sides as they are carried.

    Both are masked: zero times the infinity of another group's row is not zero.
    """
    at = jnp.minimum(begin, lhs.shape[0] - rows)
    keep = _within(begin, end, at, rows)
    left, right = (_tile(side, at, rows) for side in (lhs, rhs))
    # A zero of what is carried: all bits of the number zero are zero.
    left, right = (operands.multiplied(jnp.where(keep, tile, jnp.zeros((), tile.dtype))) for tile in (left, right))
    return operands.rows_dot(left, right)


def _within(begin: Int32[Array, ""], end: Int32[Array, ""], at: Int32[Array, ""], rows: int) -> Bool[Array, "tile 1"]:
    """Which of the rows [at, at + rows) lie in [begin, end)."""
    index = at + jnp.arange(rows, dtype=jnp.int32)[:, None]
    return (index >= begin) & (index < end)


def _tile(array: Shaped[Array, "m c"], at: Int32[Array, ""], rows: int) -> Shaped[Array, "tile c"]:
    return jax.lax.dynamic_slice_in_dim(array, at, rows)
