"""From router logits to a routing."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from bench_core.arrays import Array, Float32, Int32, Sums


class Routing(NamedTuple):
    """The experts that each token chose, best first and distinct, and their weights, which sum to one.

    A null slot has the number of experts for its expert and 0 for its weight.

    A named tuple, because JAX rebuilds pytrees with placeholders that no typed constructor lets in.
    """

    experts: Int32[Array, "tokens topk"]
    weights: Sums[Array, "tokens topk"]


RouterInput = Routing | Float32[Array, "tokens experts"]
"""A routing that is fixed, or router logits from which the program makes one."""


def route(
    logits: Float32[Array, "tokens experts"], topk: int, learned: Sums[Array, "tokens experts"] | None = None
) -> Routing:
    """Top-k of the logits, then softmax over the k that were chosen.

    `learned` are the logits of a router with weights, which are added before the softmax. They do not change who is
    chosen: the number of rows of every expert is known before the program starts.
    """
    chosen, experts = jax.lax.top_k(logits, topk)
    if learned is not None:
        chosen = chosen.astype(learned.dtype) + jnp.take_along_axis(learned, experts, axis=-1)
    return Routing(experts=experts.astype(jnp.int32), weights=jax.nn.softmax(chosen, axis=-1))


def route_padded(
    logits: Float32[Array, "tokens experts"], topk: int, learned: Sums[Array, "tokens experts"] | None = None
) -> Routing:
    """As `route`, of tokens among which some were added: these have logits of -inf, and get null slots."""
    added = jnp.isneginf(logits[:, :1])
    # A softmax of -inf alone is NaN, and so would be its gradient.
    routing = route(jnp.where(added, 0.0, logits), topk, learned)
    return Routing(
        experts=jnp.where(added, jnp.int32(logits.shape[1]), routing.experts),
        weights=jnp.where(added, 0.0, routing.weights),
    )
