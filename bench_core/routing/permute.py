"""Sorting assignments by expert, and the way back.

An assignment is a (token, slot) pair; assignment a = token * topk + slot. Both directions are gathers, and
so are both gradients: the inverse permutation stands in for the scatter that autodiff would make.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Float32, Int32


class Permutation(NamedTuple):
    """`order[r]` is the assignment in sorted row r; `inverse[a]` is the row of assignment a.

    A named tuple for the reason that `Routing` gives.
    """

    order: Int32[Array, " assignments"]
    inverse: Int32[Array, " assignments"]
    group_sizes: Int32[Array, " experts"]


def sort_by_expert(chosen: Int32[Array, "tokens topk"], experts: int) -> Permutation:
    """Stable sort of all assignments by expert, by two argsorts. `experts` is their number."""
    flat = chosen.reshape(-1)
    order = jnp.argsort(flat, stable=True).astype(jnp.int32)
    return Permutation(
        order=order,
        inverse=jnp.argsort(order).astype(jnp.int32),
        group_sizes=jnp.bincount(flat, length=experts).astype(jnp.int32),
    )


@jax.custom_vjp
def dispatch(rows: Float[Array, "tokens width"], permutation: Permutation) -> Float[Array, "assignments width"]:
    """out[r] = rows[token of sorted row r]. The gradient sums a token's assignments in float32."""
    topk = permutation.order.size // rows.shape[0]
    return rows[permutation.order // topk]


def _dispatch_forward(
    rows: Float[Array, "tokens width"], permutation: Permutation
) -> tuple[Array, tuple[Permutation, int]]:
    return dispatch(rows, permutation), (permutation, rows.shape[0])


def _dispatch_backward(
    residuals: tuple[Permutation, int], cotangent: Float[Array, "assignments width"]
) -> tuple[Array, None]:
    permutation, tokens = residuals
    by_token = cotangent[permutation.inverse].reshape(tokens, -1, cotangent.shape[-1])
    return by_token.astype(jnp.float32).sum(axis=1).astype(cotangent.dtype), None


dispatch.defvjp(_dispatch_forward, _dispatch_backward)


@jax.custom_vjp
def unsort(rows: Float[Array, "assignments width"], permutation: Permutation) -> Float[Array, "assignments width"]:
    """Sorted rows back in the order of assignments: out[a] = rows[inverse[a]]."""
    return rows[permutation.inverse]


def _unsort_forward(rows: Float[Array, "assignments width"], permutation: Permutation) -> tuple[Array, Permutation]:
    return unsort(rows, permutation), permutation


def _unsort_backward(permutation: Permutation, cotangent: Float[Array, "assignments width"]) -> tuple[Array, None]:
    return cotangent[permutation.order], None


unsort.defvjp(_unsort_forward, _unsort_backward)


def combine(
    rows: Float32[Array, "assignments width"],
    permutation: Permutation,
    weights: Float32[Array, "tokens topk"],
) -> Float32[Array, "tokens width"]:
    """out[t] = sum over slots of weights[t, slot] * rows[row of (t, slot)]."""
    tokens, topk = weights.shape
    by_token = unsort(rows, permutation).reshape(tokens, topk, rows.shape[-1])
    # A product and a sum, not an einsum: a dot would take the platform's default matmul precision.
    return (by_token * weights[:, :, None]).sum(axis=1)
