"""Grouped products as loops over groups and, inside, over static row tiles; and what such loops have for operands.

The work is proportional to the rows, not to rows times groups. Sorted rows have one largest tile to spare: what a tile
writes beyond its group's rows, the groups that follow overwrite.
"""

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from bench_core.arrays import Array, Bool, Float, Int, Int32, Shaped, Sums
from bench_core.gmm.base import Cotangent, Rows, Sizes, product
from bench_core.gmm.tile import Rung, ladder
from bench_core.gmm.varying import varying_as
from bench_core.quant import round_to, sum_dtype

# The bits of a bfloat16 that no arithmetic makes.
_ALL_BITS = 0xFFFF

Buffers = tuple[Array, ...]
"""Of sorted rows; or what some of these rows are to be."""


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
            stacked, index = jax.lax.optimization_barrier((stacked, index))
        return self.multiplied(jax.lax.dynamic_index_in_dim(self.carried(stacked), index, keepdims=False))

    def rounded(self, sums: Sums[Array, "*shape"]) -> Float[Array, "*shape"]:
        """Sums that become an operand, as `dot` takes it."""
        values = round_to(sums, self.dtype)
        return values if self.narrow else values.astype(sum_dtype(self.dtype))

    def rows_dot(self, lhs: Float[Array, "tile k"], rhs: Float[Array, "tile n"]) -> Sums[Array, "k n"]:
        """lhs.T @ rhs.

        XLA for CPU has bfloat16 kernels for what is contracted on the last axis of the left side, and widens the rest.
        It folds a transpose into the product unless it comes out of a loop whose length it cannot tell.
        """
        if lhs.dtype != jnp.bfloat16:
            return product(lhs, rhs, (0, 0))
        moved = self.carried(lhs)
        # One turn, or two where the first number is a certain NaN: each gives the same, and no compiler can tell.
        turns = 1 + (moved[0, 0] == _ALL_BITS).astype(jnp.int32)
        zeros = varying_as(jnp.zeros(moved.shape[::-1], moved.dtype), lhs)
        turned = jax.lax.fori_loop(0, turns, lambda _, before: moved.T, zeros)
        return product(self.valued(turned), rhs, (1, 0))


def written(buffers: Buffers, parts: Buffers, at: Int32[Array, ""]) -> Buffers:
    return tuple(
        jax.lax.dynamic_update_slice_in_dim(own, part, at, axis=0) for own, part in zip(buffers, parts, strict=True)
    )


Parts = Callable[[Array, int], tuple[Buffers, tuple[Array, ...]]]
"""(at, n) -> rows [at, at + n) of each buffer, as one group has them, and what they add to each of its sums."""
_State = tuple[Array, Buffers, tuple[Array, ...]]
"""The next row that is to be computed, int32 []; the rows so far; the group's sums so far."""


def over_groups(
    tiles: tuple[Rung, ...],
    group_sizes: Int32[Array, " g"],
    buffers: Buffers,
    results: tuple[Array, ...],
    of_group: Callable[[Array, Array], Parts],
    stored: Callable[[Array], Array] = lambda sums: sums,
) -> tuple[Buffers, tuple[Array, ...]]:
    """The buffers, in which each group has written its rows, and `results` [g, _, _] with the sums of each group. Rows
    past the last group mean nothing.

    `of_group(g, end)` gives the parts of group g, whose rows end there; `stored` makes an element of a result of its
    sum.
    """
    ends = jnp.cumsum(group_sizes)

    def one_group(index: Array, carry: tuple[Buffers, tuple[Array, ...], tuple[Array, ...]]) -> tuple[Any, ...]:
        buffers, before, results = carry
        start, end = ends[index] - group_sizes[index], ends[index]
        _, buffers, sums = _one_group(tiles, start, end, of_group(index, end), (start, buffers, before))
        # Not in what is carried: it would be copied.
        totals = (jnp.where(end > start, total, 0.0) for total in sums)
        results = tuple(
            jax.lax.dynamic_update_index_in_dim(result, stored(total), index, axis=0)
            for result, total in zip(results, totals, strict=True)
        )
        return buffers, sums, results

    before = tuple(varying_as(jnp.zeros(own.shape[1:], sum_dtype(own.dtype)), *results) for own in results)
    buffers, _, results = jax.lax.fori_loop(0, group_sizes.shape[0], one_group, (buffers, before, results))
    return buffers, results


def _one_group(tiles: tuple[Rung, ...], start: Array, end: Array, parts: Parts, state: _State) -> _State:
    """The state after the rows [start, end). The sums of a group without rows are those that it began with."""

    def make(rows: int, state: _State) -> _State:
        at, buffers, _ = state
        own, sums = parts(at, rows)
        return at + rows, written(buffers, own, at), sums

    def add(rows: int, state: _State) -> _State:
        at, _, so_far = state
        following, buffers, sums = make(rows, state)
        # At the first row, what is there is not ours.
        total = (jnp.where(at == start, 0.0, own) + more for own, more in zip(so_far, sums, strict=True))
        return following, buffers, tuple(total)

    # Most groups have one tile when there are many groups. Then nothing is added to an array in memory. Not a
    # conditional: the compiler would copy all rows into and out of it.
    for above, tile in itertools.pairwise(tiles[:-1]) if state[2] else ():
        wanted = (end - start >= tile.least) & (end - start < above.least)
        fits = functools.partial(lambda wanted, state: wanted & (state[0] == start), wanted)
        state = jax.lax.while_loop(fits, functools.partial(make, tile.rows), state)
    for tile in tiles:
        worthwhile = functools.partial(lambda least, state: end - state[0] >= least, tile.least)
        state = jax.lax.while_loop(worthwhile, functools.partial(add, tile.rows), state)
    return state


def rows_product(
    lhs: Float[Array, "m c"], rhs: Float[Array, "g _ _"], group_sizes: Sizes, *, rhs_axis: int, narrow: bool
) -> Sums[Array, "m _"]:
    """out[i] = lhs[i] contracted with axis `rhs_axis` (0 or 1) of rhs[group of i]; zeros past the groups. `narrow`: see
    `Operands`."""
    tiles, operands = ladder(lhs.shape[0], rhs.shape[0]), Operands(dtype=lhs.dtype, narrow=narrow)
    moved = padded_rows(operands.carried(lhs), tiles)

    def of_group(index: Array, _: Array) -> Parts:
        matrix = operands.matrix(rhs, index)
        return lambda at, rows: ((product(operands.multiplied(_tile(moved, at, rows)), matrix, (1, rhs_axis)),), ())

    zeros = jnp.zeros((moved.shape[0], rhs.shape[2 - rhs_axis]), sum_dtype(lhs.dtype))
    (out,), _ = over_groups(tiles, group_sizes, (varying_as(zeros, lhs, rhs, group_sizes),), (), of_group)
    return jnp.where(
        within(jnp.int32(0), lhs.shape[0], jnp.sum(group_sizes, dtype=jnp.int32)), out[: lhs.shape[0]], 0.0
    )


def groups_product(lhs: Rows, rhs: Cotangent, group_sizes: Sizes, *, narrow: bool) -> Sums[Array, "g k n"]:
    """out[g] = lhs[rows of g].T @ rhs[rows of g]. `narrow`: see `Operands`."""
    groups, operands = group_sizes.shape[0], Operands(dtype=lhs.dtype, narrow=narrow)
    tiles = ladder(lhs.shape[0], groups)
    sides = [padded_rows(operands.carried(side), tiles) for side in (lhs, rhs)]

    def of_group(_: Array, end: Array) -> Parts:
        def parts(at: Array, rows: int) -> tuple[Buffers, tuple[Array, ...]]:
            # Both sides are masked: zero times the infinity of another group's row is not zero.
            keep = within(at, rows, end)
            own = (operands.multiplied(zero_unless(keep, _tile(side, at, rows))) for side in sides)
            return (), (operands.rows_dot(*own),)

        return parts

    zeros = jnp.zeros((groups, lhs.shape[1], rhs.shape[1]), sum_dtype(lhs.dtype))
    zeros = varying_as(zeros, lhs, rhs, group_sizes)
    _, (out,) = over_groups(tiles, group_sizes, (), (zeros,), of_group)
    return out


def padded_rows(rows: Shaped[Array, "..."], tiles: tuple[Rung, ...]) -> Shaped[Array, "..."]:
    """With one largest tile to spare."""
    return jnp.pad(rows, ((0, tiles[0].rows), *((0, 0),) * (rows.ndim - 1)))


def within(at: Int32[Array, ""], rows: int, end: Int32[Array, ""]) -> Bool[Array, "tile 1"]:
    """Which of the rows [at, at + rows) lie before `end`."""
    return (at + jnp.arange(rows, dtype=jnp.int32) < end)[:, None]


def zero_unless(keep: Bool[Array, "tile 1"], rows: Shaped[Array, "tile c"]) -> Shaped[Array, "tile c"]:
    """A zero of what is carried, too: all bits of the number zero are zero."""
    return jnp.where(keep, rows, jnp.zeros((), rows.dtype))


def _tile(array: Shaped[Array, "m c"], at: Int32[Array, ""], rows: int) -> Shaped[Array, "tile c"]:
    return jax.lax.dynamic_slice_in_dim(array, at, rows)
