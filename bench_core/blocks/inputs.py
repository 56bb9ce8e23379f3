"""Activations, weights and routing of a case, from its seed."""

import functools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bench_core.arrays import Array, Bool, Float, Float32, Int64
from bench_core.blocks.moe import Weights
from bench_core.routing.request import Distribution, NullMode, RoutingRequest
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


def make_inputs(
    seed: int, *, shape: MoeShape, dtype: DType, request: RoutingRequest, router: bool = False, inside: bool = False
) -> BlockInputs:
    """Draw a case's inputs on the device; with logits where the program makes the routing `inside`.

    x is standard normal, weights are normal with standard deviation 1 / sqrt(fan-in), router logits follow
    the request in float32. Each array has a key of its own, so that a shape without a shared expert draws the
    same experts as one with it, and a null fraction changes nothing but the slots that become null. The values
    depend on seed, shape, dtype and request, not on implementation or backend. Cases that differ in top-k, null slots
    or seed draw by one program.
    """
    weights = weight_shapes(shape, router=router)
    sizes = {"x": (shape.tokens, shape.hidden), **weights}
    drawn = _normals(
        np.uint32(seed), arrays=(*((name, size, dtype) for name, size in sizes.items()), *_logits(shape, request))
    )
    logits = drawn["logits"] if "logits" in drawn else _run_logits(seed, shape, request)
    return BlockInputs(
        x=drawn["x"],
        weights={name: drawn[name] for name in weights},
        routing=_with_nulls(_routed(logits, shape.topk), seed, shape, request),
        logits=logits if inside else None,
    )


def make_routing(seed: int, *, shape: MoeShape, request: RoutingRequest) -> Routing:
    """The routing of `make_inputs` alone: all that a compiler needs to know of the values."""
    drawn = _normals(np.uint32(seed), arrays=_logits(shape, request))
    logits = drawn["logits"] if drawn else _run_logits(seed, shape, request)
    return _with_nulls(_routed(logits, shape.topk), seed, shape, request)


Drawn = tuple[str, tuple[int, ...], DType]
"""Name, sizes and type of an array."""


def _logits(shape: MoeShape, request: RoutingRequest) -> tuple[Drawn, ...]:
    """The router's logits, where they are normal. Null slots do not show in them."""
    normal = request.distribution is Distribution.RANDOM
    return (("logits", (shape.tokens, shape.experts), DType.FLOAT32),) if normal else ()


def _run_logits(seed: int, shape: MoeShape, request: RoutingRequest) -> Float32[Array, "tokens experts"]:
    """Those in which consecutive tokens favour one expert."""
    rng = np.random.default_rng([seed, _RUNS_STREAM])
    alpha, noise_scale = request.run_alpha, request.run_noise_scale
    return jnp.asarray(
        run_logits(rng, tokens=shape.tokens, experts=shape.experts, alpha=alpha, noise_scale=noise_scale)
    )


ROUTER = "router"
_NAMES = ("x", "logits", "w1", "w3", "w2", "shared_w1", "shared_w3", "shared_w2")
_routed = jax.jit(route, static_argnums=1)


@functools.partial(jax.jit, static_argnames="arrays")
def _normals(seed: np.uint32 | Array, *, arrays: tuple[Drawn, ...]) -> dict[str, Array]:
    """Normal arrays by name, each with the key that belongs to it; a weight's deviation is 1 / sqrt(fan-in)."""
    root = jax.random.key(seed)
    keys = dict(zip(_NAMES, jax.random.split(root, len(_NAMES)), strict=True))
    # The router came later than the others, whose keys stay as they are.
    keys |= {ROUTER: jax.random.fold_in(root, 1)} if ROUTER in (name for name, _, _ in arrays) else {}
    return {
        # Drawn flat: w1, w3 and w2 are equally long, and one length is traced once.
        name: _normal(
            keys[name], size[1] ** -0.5 if len(size) == 3 else 1.0, length=math.prod(size), dtype=dtype
        ).reshape(size)
        for name, size, dtype in arrays
    }


@functools.partial(jax.jit, static_argnames=("length", "dtype"))
def _normal(key: Array, scale: float | Float[Array, ""], *, length: int, dtype: DType) -> Float[Array, " length"]:
    return (jax.random.normal(key, (length,), jnp.float32) * scale).astype(dtype.value)


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


def real_slots(
    rng: np.random.Generator, *, tokens: int, topk: int, null_frac: float, mode: NullMode
) -> Bool[np.ndarray, "tokens topk"]:
    """True where a slot keeps its expert; exactly round(null_frac * tokens * topk) slots do not.

    independent: every slot draws a uniform number, and the slots with the smallest become null.
    take_until_null: a slot competes with the smallest number of its token up to itself, which is the rule
    "null below a threshold, and everything behind the first null" with the threshold chosen such that the
    fraction is met. Equal numbers of one token keep the earlier slot, hence a prefix.
    """
    draws = rng.random((tokens, topk))
    if mode is NullMode.TAKE_UNTIL_NULL:
        draws = np.minimum.accumulate(draws, axis=1)
    nulls = round(null_frac * draws.size)
    # Stable, on descending numbers: equal ones stay in the order of slots, and the last of all become null.
    order = np.argsort(-draws.reshape(-1), kind="stable")
    real = np.ones(draws.size, np.bool_)
    real[order[draws.size - nulls :]] = False
    return real.reshape(tokens, topk)


def real_weights(
    weights: Float32[np.ndarray, "tokens topk"], real: Bool[np.ndarray, "tokens topk"], *, renormalize: bool
) -> Float32[np.ndarray, "tokens topk"]:
    """Zero for null slots; with `renormalize` the others are divided by their sum (a token without any keeps
    zeros)."""
    kept = np.where(real, weights, np.float32(0))
    if renormalize:
        sums = kept.sum(axis=1, keepdims=True)
        # A token that lost nothing keeps its weights to the last bit.
        whole = real.all(axis=1, keepdims=True)
        kept = np.where(whole, kept, kept / np.where(sums > 0, sums, np.float32(1)))
    return kept


FAVOURITE_LOGIT = 6.0


def run_favourites(
    rng: np.random.Generator, *, tokens: int, experts: int, alpha: float
) -> Int64[np.ndarray, " tokens"]:
    """The favoured expert of every token.

    Run lengths are geometric, P(n) = (1 - alpha) alpha^(n - 1), with mean 1 / (1 - alpha); the last run is cut
    at the last token. Each run is given to a least-loaded expert, by lot among equals, and counts with its
    length.
    """
    favourites = np.empty(tokens, np.int64)
    load = np.zeros(experts, np.int64)
    start = 0
    while start < tokens:
        length = min(int(rng.geometric(1.0 - alpha)), tokens - start)
        expert = int(rng.choice(np.flatnonzero(load == load.min())))
        favourites[start : start + length] = expert
        load[expert] += length
        start += length
    return favourites


def run_logits(
    rng: np.random.Generator, *, tokens: int, experts: int, alpha: float, noise_scale: float
) -> Float32[np.ndarray, "tokens experts"]:
    """noise_scale * normal, plus 6 for the favourite of the token's run."""
    favourites = run_favourites(rng, tokens=tokens, experts=experts, alpha=alpha)
    logits: Float32[np.ndarray, "tokens experts"] = noise_scale * rng.standard_normal((tokens, experts), np.float32)
    logits[np.arange(tokens), favourites] += np.float32(FAVOURITE_LOGIT)
    return logits
