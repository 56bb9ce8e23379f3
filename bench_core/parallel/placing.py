"""Where the arrays of a spread block lie, before its clock starts."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float, Float32

from bench_core.parallel.block import QUEUE_PARTITION, token_partition, weight_partition
from bench_core.parallel.forms import DATA_AXIS, EXPERT_AXIS
from bench_core.parallel.spread import Spread
from bench_core.routing.topk import Routing
from bench_core.timing.measure import Places

# JAX leaves these constructors without types.
_sharding: Callable[[Mesh, PartitionSpec], NamedSharding] = NamedSharding
_P: Callable[..., PartitionSpec] = PartitionSpec


def mesh_of(devices: Sequence[jax.Device], spread: Spread) -> Mesh:
    """The first devices as data x expert."""
    grid = np.array(devices[: spread.devices]).reshape(spread.dp, spread.ep)
    return Mesh(grid, (DATA_AXIS, EXPERT_AXIS))


def padded(x: Float[Array, "tokens hidden"], spread: Spread) -> Float[Array, "padded hidden"]:
    """With so many rows that every device has as many: zeros that no expert gets."""
    more = spread.padded_tokens(x.shape[0]) - x.shape[0]
    return jnp.pad(x, ((0, more), (0, 0))) if more else x


def padded_routing(routing: Routing, spread: Spread, experts: int) -> Routing:
    """The routing of `padded` tokens: those that were added have null slots."""
    more = spread.padded_tokens(routing.experts.shape[0]) - routing.experts.shape[0]
    if not more:
        return routing
    rows = ((0, more), (0, 0))
    chosen = jnp.pad(routing.experts, rows, constant_values=experts)
    return Routing(experts=chosen, weights=jnp.pad(routing.weights, rows))


def padded_logits(logits: Float32[Array, "tokens experts"], spread: Spread) -> Float32[Array, "padded experts"]:
    """The logits of `padded` tokens: those that were added choose no expert (see `routing.topk.route_padded`)."""
    more = spread.padded_tokens(logits.shape[0]) - logits.shape[0]
    return jnp.pad(logits, ((0, more), (0, 0)), constant_values=-jnp.inf) if more else logits


def places(mesh: Mesh, spread: Spread, weights: Collection[str], *, queued: bool = False) -> Places:
    """Of x, weights of these names, routing (or its logits) and a queue, and of what a pass gives: a gradient lies
    where its array lies."""
    tokens = _sharding(mesh, token_partition(spread))
    by_weight = {name: _sharding(mesh, weight_partition(name)) for name in weights}

    def of(name: str) -> NamedSharding:
        if name in ("output", "grad_x"):
            return tokens
        return by_weight[name.removeprefix("grad_")] if name.startswith("grad_") else _sharding(mesh, _P())

    def outputs(shapes: Mapping[str, Any]) -> dict[str, NamedSharding]:
        return {name: of(name) for name in shapes}

    arguments = tokens, by_weight, tokens
    queue = (_sharding(mesh, QUEUE_PARTITION),) if queued else ()
    return Places(arguments=arguments + queue, outputs=outputs)
