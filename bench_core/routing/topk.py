"""From router logits to a routing."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float32, Int32


class Routing(NamedTuple):
    """The experts that each token chose, best first and distinct, and their weights, which sum to one.

    A null slot has the number of experts for its expert and 0 for its weight.

    A named tuple, because JAX rebuilds pytrees with placeholders that no typed constructor lets in.
    """

    experts: Int32[Array, "tokens topk"]
    weights: Float32[Array, "tokens topk"]


def route(logits: Float32[Array, "tokens experts"], topk: int) -> Routing:
    """Top-k of the logits, then softmax over the k that were chosen."""
    chosen, experts = jax.lax.top_k(logits, topk)
    return Routing(experts=experts.astype(jnp.int32), weights=jax.nn.softmax(chosen, axis=-1))
