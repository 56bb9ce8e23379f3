"""Activations, weights and routing of a case, from its seed."""

import functools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float32

from bench_core.blocks.moe import Weights
from bench_core.routing.distribution import Distribution, RoutingRequest
from bench_core.routing.draws import real_slots, real_weights, run_logits
from bench_core.routing.topk import Routing, route
from bench_core.shapes import DType, MoeShape


class BlockInputs(NamedTuple):
    """Everything that a block reads; weights in the unfused form. `logits`: of which the program itself makes the
    routing, where it does."""

    x: Float[Array, "tokens hidden"]
    weights: Weights
    routing: Routing
    logits: Float32[Array, "tokens experts"] | None = None


def weight_shapes(shape: MoeShape, *, router: bool = False) -> dict[str, tuple[int, int, int]]:
    """[group, fan-in, fan-out] of every weight, and of the router where a pass trains it."""
    up, down = (
        (shape.experts, shape.hidden, shape.mlp_dim),
        (shape.experts, shape.mlp_dim, shape.hidden),
    )
    shapes = {"w1": up, "w3": up, "w2": down}
    if shape.shared_expert_dim:
        shared_up = (1, shape.hidden, shape.shared_expert_dim)
        shapes |= {
            "shared_w1": shared_up,
            "shared_w3": shared_up,
            "shared_w2": (1, shape.shared_expert_dim, shape.hidden),
        }
    return shapes | ({ROUTER: (1, shape.hidden, shape.experts)} if router else {})


@functools.partial(jax.jit, static_argnames=("size", "dtype"))
def _normal(key: Array, scale: float | Float[Array, ""], *, size: int, dtype: DType) -> Float[Array, " size"]:
    return (jax.random.normal(key, (size,), jnp.float32) * scale).astype(dtype.value)


def make_inputs(
    seed: int, *, shape: MoeShape, dtype: DType, request: RoutingRequest, router: bool = False
) -> BlockInputs:
    """Draw a case's inputs on the device.

    x is standard normal, weights are normal with standard deviation 1 / sqrt(fan-in), router logits follow
    the request in float32. Each array has a key of its own, so that a shape without a shared expert draws the
    same experts as one with it, and a null fraction changes nothing but the slots that become null. The values
    depend on seed, shape, dtype and request, not on implementation or backend.
    """
    return BlockInputs(
        x=_draw(seed, "x", (shape.tokens, shape.hidden), 1.0, dtype),
        weights={
            name: _draw(seed, name, size, size[1] ** -0.5, dtype)
            for name, size in weight_shapes(shape, router=router).items()
        },
        routing=make_routing(seed, shape=shape, request=request),
    )


def make_routing(seed: int, *, shape: MoeShape, request: RoutingRequest) -> Routing:
    """The routing of `make_inputs` alone: all that a compiler needs to know of the values."""
    return _with_nulls(route(make_logits(seed, shape=shape, request=request), shape.topk), seed, shape, request)


def make_logits(seed: int, *, shape: MoeShape, request: RoutingRequest) -> Float32[Array, "tokens experts"]:
    """The router's logits, from which `make_routing` chooses. Null slots do not show in them."""
    match request.distribution:
        case Distribution.RANDOM:
            return _draw(seed, "logits", (shape.tokens, shape.experts), 1.0, DType.FLOAT32)
        case Distribution.RUNS:
            return jnp.asarray(
                run_logits(
                    np.random.default_rng([seed, _RUNS_STREAM]),
                    tokens=shape.tokens,
                    experts=shape.experts,
                    alpha=request.run_alpha,
                    noise_scale=request.run_noise_scale,
                )
            )


ROUTER = "router"
_NAMES = ("x", "logits", "w1", "w3", "w2", "shared_w1", "shared_w3", "shared_w2")


def _draw(seed: int, name: str, size: tuple[int, ...], scale: float, dtype: DType) -> Array:
    """A normal array with the key that belongs to its name."""
    root = jax.random.key(seed)
    # The router came later than the others, whose keys stay as they are.
    key = jax.random.fold_in(root, 1) if name == ROUTER else jax.random.split(root, len(_NAMES))[_NAMES.index(name)]
    # Drawn flat: w1, w3 and w2 are equally long, and one length is one compilation.
    flat: Array = _normal(key, scale, size=math.prod(size), dtype=dtype)
    return flat.reshape(size)


# Streams of random numbers apart from JAX's, and from each other.
_RUNS_STREAM, _NULLS_STREAM = 1, 2


def _with_nulls(routing: Routing, seed: int, shape: MoeShape, request: RoutingRequest) -> Routing:
    """Null slots name the expert `experts` and weigh nothing."""
    if request.null_frac == 0:
        return routing
    rng = np.random.default_rng([seed, _NULLS_STREAM])
    real = real_slots(rng, tokens=shape.tokens, topk=shape.topk, null_frac=request.null_frac, mode=request.null_mode)
    weights = real_weights(np.asarray(routing.weights), real, renormalize=request.renormalize)
    experts = np.where(real, np.asarray(routing.experts), np.int32(shape.experts))
    return Routing(experts=jnp.asarray(experts), weights=jnp.asarray(weights))
