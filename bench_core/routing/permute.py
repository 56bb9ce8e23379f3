"""Sorting assignments by expert, and the way back.

An assignment is a (token, slot) pair; assignment a = token * topk + slot. Dispatch and combine are gathers,
and so are their gradients: the inverse permutation stands in for the scatter that autodiff would make.

With a layout (null slots, capacity) there are rows without an assignment and assignments without a row. Both
point one past the end, where a gather finds zeros: that is what `partial` means below.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp

from bench_core.arrays import Array, Float, Int32, Sums
from bench_core.quant import round_to, sum_dtype
from bench_core.routing.layout import Layout
from bench_core.routing.request import PackStrategy


class Permutation(NamedTuple):
    """`order[r]` is the assignment in row r (tokens * topk: none); `inverse[a]` is the row of assignment a
    (rows: none).

    A named tuple for the reason that `Routing` gives.
    """

    order: Int32[Array, " rows"]
    inverse: Int32[Array, " assignments"]
    group_sizes: Int32[Array, " experts"]


_Combined = tuple[Array, Permutation, Array]
"""Rows, how they were sorted, and the routing weights."""


def sort_by_expert(
    chosen: Int32[Array, "tokens topk"],
    experts: int,
    *,
    strategy: PackStrategy = PackStrategy.ARGSORT,
    layout: Layout | None = None,
) -> Permutation:
    """Stable sort of all assignments by expert.

    Args:
        chosen: experts of every slot; `experts` itself for a null slot, which needs a layout.
        experts: their number.
        strategy: how to sort.
        layout: default: every assignment is real and has a row. Of an expert over its capacity, the
            assignments of the first tokens stay.
    """
    flat = chosen.reshape(-1)
    order, place = _sorted(flat, strategy)
    sizes = jnp.bincount(flat, length=experts + 1).astype(jnp.int32)[:experts]
    if layout is None:
        return Permutation(order=order, inverse=place, group_sizes=sizes)
    kept = sizes if layout.capacity is None else jnp.minimum(sizes, layout.capacity)
    group_sizes = jnp.full_like(sizes, layout.rows // experts) if layout.padded else kept
    if layout.filled:
        group_sizes = group_sizes.at[-1].add(layout.rows - kept.sum(dtype=jnp.int32))
    first_place = jnp.cumsum(sizes) - sizes
    ends = jnp.cumsum(group_sizes)
    first_row = ends - group_sizes
    row = jnp.arange(layout.rows, dtype=jnp.int32)
    # A row behind all groups has no assignment, whichever expert it is compared with.
    expert = jnp.minimum(jnp.searchsorted(ends, row, side="right").astype(jnp.int32), experts - 1)
    rank = row - first_row[expert]
    # Places past the end belong to rows without an assignment; the gather may read anything there.
    source = order.at[first_place[expert] + rank].get(mode="clip")
    own_rank = place - first_place.at[flat].get(mode="clip")
    has_row = (flat < experts) & (own_rank < kept.at[flat].get(mode="clip"))
    return Permutation(
        order=jnp.where(rank < kept[expert], source, flat.size),
        inverse=jnp.where(has_row, first_row.at[flat].get(mode="clip") + own_rank, layout.rows),
        group_sizes=group_sizes,
    )


def _sorted(flat: Int32[Array, " n"], strategy: PackStrategy) -> tuple[Int32[Array, " n"], Int32[Array, " n"]]:
    """The stable order of `flat`, and the place of each element in it."""
    match strategy:
        case PackStrategy.ARGSORT:
            order = jnp.argsort(flat, stable=True).astype(jnp.int32)
            return order, jnp.argsort(order).astype(jnp.int32)
        case PackStrategy.TUPLE_SORT:
            numbers = jnp.arange(flat.size, dtype=jnp.int32)
            _, order = jax.lax.sort((flat, numbers), num_keys=2)
            _, place = jax.lax.sort((order, numbers), num_keys=1)
            return order, place


def _gather(rows: Float[Array, "m *width"], at: Int32[Array, " n"], partial: bool) -> Float[Array, "n *width"]:
    """rows[at], zeros for one past the end. bfloat16 moves as bits: XLA for CPU would widen it first."""
    moved = jax.lax.bitcast_convert_type(rows, jnp.uint16) if rows.dtype == jnp.bfloat16 else rows
    mode = {"mode": "fill", "fill_value": 0} if partial else {"mode": "promise_in_bounds"}
    taken = moved.at[at].get(**mode)
    return taken if taken.dtype == rows.dtype else jax.lax.bitcast_convert_type(taken, rows.dtype)


def _slot_sum(
    rows: Float[Array, "rows width"],
    row_of: Int32[Array, "tokens topk"],
    weights: Sums[Array, "tokens topk"] | None,
    partial: bool,
) -> Sums[Array, "tokens width"]:
    """out[t] = sum over slots of weights[t, slot] * rows[row_of[t, slot]] in `sum_dtype`; without weights, the sum.

    One gather per slot and a running sum: no array of tokens * topk rows. A product and a sum, not an einsum: a
    dot would take the platform's default matmul precision.
    """
    sums = sum_dtype(rows.dtype)
    parts = [_gather(rows, row_of[:, slot], partial).astype(sums) for slot in range(row_of.shape[1])]
    if weights is not None:
        parts = [part * weights[:, slot, None].astype(sums) for slot, part in enumerate(parts)]
    return functools.reduce(jnp.add, parts)


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def dispatch(
    rows: Float[Array, "tokens width"], permutation: Permutation, partial: bool = False
) -> Float[Array, "rows width"]:
    """out[r] = rows[token of row r]. The gradient sums a token's assignments in `sum_dtype`."""
    topk = permutation.inverse.size // rows.shape[0]
    return _gather(rows, permutation.order // topk, partial)


def _dispatch_forward(rows: Array, permutation: Permutation, partial: bool) -> tuple[Array, tuple[Permutation, int]]:
    return dispatch(rows, permutation, partial), (permutation, rows.shape[0])


def _dispatch_backward(partial: bool, residuals: tuple[Permutation, int], cotangent: Array) -> tuple[Array, None]:
    permutation, tokens = residuals
    return dispatch_gradient(cotangent, permutation, partial, tokens=tokens, dtype=cotangent.dtype), None


def dispatch_gradient(
    cotangent: Float[Array, "rows width"], permutation: Permutation, partial: bool, *, tokens: int, dtype: jnp.dtype
) -> Float[Array, "tokens width"]:
    """out[t] = sum of cotangent[row] over the rows of token t, summed in `sum_dtype` and rounded to `dtype` once."""
    return round_to(_slot_sum(cotangent, permutation.inverse.reshape(tokens, -1), None, partial), dtype)


dispatch.defvjp(_dispatch_forward, _dispatch_backward)


def row_weights(
    permutation: Permutation, weights: Sums[Array, "tokens topk"], partial: bool = False
) -> Sums[Array, " rows"]:
    """The routing weight of the assignment in each row; 0 in a row without one."""
    return _gather(weights.reshape(-1), permutation.order, partial)


def combine(
    rows: Sums[Array, "rows width"],
    permutation: Permutation,
    weights: Sums[Array, "tokens topk"],
    partial: bool = False,
    *,
    weighted: bool = True,
) -> Sums[Array, "tokens width"]:
    """out[t] = sum over slots of weights[t, slot] * rows[row of (t, slot)], by a gather.

    With `weighted` False the rows carry their weights already.
    """
    return _combine(rows, permutation, weights, partial, weighted)


@functools.partial(jax.custom_vjp, nondiff_argnums=(3, 4))
def _combine(rows: Array, permutation: Permutation, weights: Array, partial: bool, weighted: bool) -> Array:
    return _slot_sum(rows, permutation.inverse.reshape(weights.shape), weights if weighted else None, partial)


def _combine_forward(rows: Array, permutation: Permutation, weights: Array, *static: bool) -> tuple[Array, _Combined]:
    # A program that differentiates by the rows alone does not keep them: their only use is the weights' gradient.
    return _combine(rows, permutation, weights, *static), (rows, permutation, weights)


def _combine_backward(
    partial: bool, weighted: bool, residuals: _Combined, cotangent: Array
) -> tuple[Array, None, Array]:
    rows, permutation, weights = residuals
    grad_rows = _gather(cotangent, permutation.order // weights.shape[1], partial)
    if not weighted:
        return grad_rows, None, jnp.zeros_like(weights)
    own_weights = row_weights(permutation, weights, partial)[:, None].astype(grad_rows.dtype)
    return grad_rows * own_weights, None, weights_gradient(rows, permutation, weights, cotangent, partial)


_combine.defvjp(_combine_forward, _combine_backward)


def weights_gradient(
    rows: Sums[Array, "rows width"],
    permutation: Permutation,
    weights: Sums[Array, "tokens topk"],
    cotangent: Sums[Array, "tokens width"],
    partial: bool = False,
) -> Sums[Array, "tokens topk"]:
    """out[t, slot] = rows[row of (t, slot)] . cotangent[t]: the gradient of `combine` to the routing weights."""
    by_slot = [
        (_gather(rows, own, partial) * cotangent).sum(axis=-1) for own in permutation.inverse.reshape(weights.shape).T
    ]
    return jnp.stack(by_slot, axis=1).astype(weights.dtype)
