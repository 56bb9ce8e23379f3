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
from bench_core.gmm.base import Cotangent, Rows, Sizes, matmul_precision
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


def written(buffers: Buffers, parts: Buffers, at: Int32[Array, ""]) -> Buffers:
    return tuple(
        jax.lax.dynamic_update_slice_in_dim(own, part, at, axis=0) for own, part in zip(buffers, parts, strict=True)
    )


def rows_of_groups(
    tiles: tuple[Rung, ...],
    group_sizes: Int32[Array, " g"],
    buffers: Buffers,
    of_group: Callable[[Array], Callable[[Array, int], Buffers]],
) -> Buffers:
    """The buffers, in which each group has written its rows. `of_group(g)(at, n)` gives rows [at, at + n) of each, as
    group g has them. Rows past the last group mean nothing."""
    ends = jnp.cumsum(group_sizes)

    def one_group(index: Array, buffers: Buffers) -> Buffers:
        results, end = of_group(index), ends[index]

        def take(rows: int, carry: tuple[Array, Buffers]) -> tuple[Array, Buffers]:
            at, buffers = carry
            return at + rows, written(buffers, results(at, rows), at)

        carry = (end - group_sizes[index], buffers)
        for tile in tiles:
            carry = _while_worthwhile(tile, end, functools.partial(take, tile.rows), carry)
        return carry[1]

    return jax.lax.fori_loop(0, group_sizes.shape[0], one_group, buffers)


def _while_worthwhile(tile: Rung, end: Int32[Array, ""], take: Callable[[Any], Any], carry: Any) -> Any:
    """Take tiles as long as enough rows are left; what is carried begins with the next row."""
    return jax.lax.while_loop(lambda carry: end - carry[0] >= tile.least, take, carry)


_Sums = tuple[Array, Buffers, tuple[Array, ...]]
"""The next row that is to be computed, int32 []; the rows so far; the group's sums so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSums:
    """Sums over the rows [start, end) of one group, beside rows of buffers. `parts(at, n)` gives rows [at, at + n) of
    each buffer, and what they add to each sum."""

    start: Int32[Array, ""]
    end: Int32[Array, ""]
    parts: Callable[[Array, int], tuple[Buffers, tuple[Array, ...]]]

    def over(self, tiles: tuple[Rung, ...], buffers: Buffers, before: tuple[Array, ...]) -> _Sums:
        """What is left of a group without rows is `before`, arrays in the shapes of the sums.

        Most groups have one tile when there are many groups. Then nothing is added to an array in memory.
        """
        state, size = (self.start, buffers, before), self.end - self.start
        for above, tile in itertools.pairwise(tiles[:-1]):
            wanted = (size >= tile.least) & (size < above.least)
            state = self._first(wanted, functools.partial(self._make, tile.rows), state)
        for tile in tiles:
            state = _while_worthwhile(tile, self.end, functools.partial(self._add, tile.rows), state)
        return state

    def _first(self, wanted: Array, make: Callable[[_Sums], _Sums], state: _Sums) -> _Sums:
        # Not a conditional: the compiler would copy all rows into and out of it.
        return jax.lax.while_loop(lambda state: wanted & (state[0] == self.start), make, state)

    def _make(self, rows: int, state: _Sums) -> _Sums:
        at, buffers, _ = state
        parts, sums = self.parts(at, rows)
        return at + rows, written(buffers, parts, at), sums

    def _add(self, rows: int, state: _Sums) -> _Sums:
        """At the first row, what is there is not ours."""
        following, buffers, sums = self._make(rows, state)
        at, _, so_far = state
        total = (jnp.where(at == self.start, 0.0, own) + more for own, more in zip(so_far, sums, strict=True))
        return following, buffers, tuple(total)


def sums_of_groups(
    tiles: tuple[Rung, ...],
    group_sizes: Int32[Array, " g"],
    buffers: Buffers,
    results: tuple[Array, ...],
    of_group: Callable[[Array, Array], Callable[[Array, int], tuple[Buffers, tuple[Array, ...]]]],
    stored: Callable[[Array], Array],
) -> tuple[Buffers, tuple[Array, ...]]:
    """The buffers, in which each group has written its rows, and `results` [g, _, _] with the sums of each group.

    `of_group(g, end)` gives the `parts` of group g, whose rows end there (see `GroupSums`); `stored` makes an element
    of a result of its sum.
    """
    ends = jnp.cumsum(group_sizes)

    def one_group(index: Array, carry: tuple[Buffers, tuple[Array, ...], tuple[Array, ...]]) -> tuple[Any, ...]:
        buffers, before, results = carry
        own = GroupSums(start=ends[index] - group_sizes[index], end=ends[index], parts=of_group(index, ends[index]))
        _, buffers, sums = own.over(tiles, buffers, before)
        # Not in what is carried: it would be copied.
        totals = (jnp.where(own.end > own.start, total, 0.0) for total in sums)
        results = tuple(
            jax.lax.dynamic_update_index_in_dim(result, stored(total), index, axis=0)
            for result, total in zip(results, totals, strict=True)
        )
        return buffers, sums, results

    before = tuple(varying_as(jnp.zeros(own.shape[1:], sum_dtype(own.dtype)), *results) for own in results)
    buffers, _, results = jax.lax.fori_loop(0, group_sizes.shape[0], one_group, (buffers, before, results))
    return buffers, results


def rows_product(
    lhs: Float[Array, "m c"], rhs: Float[Array, "g _ _"], group_sizes: Sizes, *, rhs_axis: int, narrow: bool
) -> Sums[Array, "m _"]:
    """out[i] = lhs[i] contracted with axis `rhs_axis` (0 or 1) of rhs[group of i]; zeros past the groups. `narrow`: see
    `Operands`."""
    tiles, operands = ladder(lhs.shape[0], rhs.shape[0]), Operands(dtype=lhs.dtype, narrow=narrow)
    moved = padded_rows(operands.carried(lhs), tiles)

    def of_group(index: Array) -> Callable[[Array, int], Buffers]:
        matrix = operands.matrix(rhs, index)
        return lambda at, rows: (operands.dot(operands.multiplied(_tile(moved, at, rows)), matrix, (1, rhs_axis)),)

    zeros = jnp.zeros((moved.shape[0], rhs.shape[2 - rhs_axis]), sum_dtype(lhs.dtype))
    (out,) = rows_of_groups(tiles, group_sizes, (varying_as(zeros, lhs, rhs, group_sizes),), of_group)
    return jnp.where(
        within(jnp.int32(0), lhs.shape[0], jnp.sum(group_sizes, dtype=jnp.int32)), out[: lhs.shape[0]], 0.0
    )


def groups_product(lhs: Rows, rhs: Cotangent, group_sizes: Sizes, *, narrow: bool) -> Sums[Array, "g k n"]:
    """out[g] = lhs[rows of g].T @ rhs[rows of g]. `narrow`: see `Operands`."""
    groups, operands = group_sizes.shape[0], Operands(dtype=lhs.dtype, narrow=narrow)
    tiles = ladder(lhs.shape[0], groups)
    sides = [padded_rows(operands.carried(side), tiles) for side in (lhs, rhs)]

    def of_group(_: Array, end: Array) -> Callable[[Array, int], tuple[Buffers, tuple[Array, ...]]]:
        def parts(at: Array, rows: int) -> tuple[Buffers, tuple[Array, ...]]:
            # Both sides are masked: zero times the infinity of another group's row is not zero.
            keep = within(at, rows, end)
            own = (operands.multiplied(zero_unless(keep, _tile(side, at, rows))) for side in sides)
            return (), (operands.rows_dot(*own),)

        return parts

    zeros = jnp.zeros((groups, lhs.shape[1], rhs.shape[1]), sum_dtype(lhs.dtype))
    zeros = varying_as(zeros, lhs, rhs, group_sizes)
    _, (out,) = sums_of_groups(tiles, group_sizes, (), (zeros,), of_group, lambda sums: sums)
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
