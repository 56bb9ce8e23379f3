"""What devices with different experts send to each other, and back: the ends of a block whose middle is one device's.

`enter` brings to each device the tokens that its experts need, `leave` brings the results to the device that owns the
token. Between them `blocks.moe.routed_block` runs on local experts as on one device.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from bench_core.arrays import Array, Float, Int32
from bench_core.gmm.varying import varies_over
from bench_core.parallel.spread import EpImpl
from bench_core.quant import sum_dtype
from bench_core.routing.layout import Layout
from bench_core.routing.permute import Permutation, combine, dispatch, row_weights, sort_by_expert
from bench_core.routing.request import PackStrategy
from bench_core.routing.topk import Routing

DATA_AXIS, EXPERT_AXIS = "data", "expert"


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What is static about the ends.

    `rows` is the size of a buffer: of all_to_all for each device, of the ragged form for all that a device sends;
    `received` is that of all that a device gets, `capacity` what it sends to one device at most (None: all).
    """

    impl: EpImpl | None
    ep: int
    local_experts: int
    topk: int
    strategy: PackStrategy
    rows: int = 0
    received: int = 0
    capacity: int | None = None


class Sent(NamedTuple):
    """How a device packed what it sent, and for the ragged form where each part went."""

    permutation: Permutation
    counts: Int32[Array, "ep ep"]


class Entered(NamedTuple):
    """Tokens as a device's experts see them, with their routing among these."""

    x: Float[Array, "tokens hidden"]
    routing: Routing
    sent: Sent | None


def enter(x: Float[Array, "tokens hidden"], routing: Routing, form: Form) -> Entered:
    """To be called on each device of a mesh with the axis `expert`, on what that device has."""
    match form.impl:
        case None:
            return Entered(x, routing, None)
        case EpImpl.PSUM:
            return Entered(x, _own(routing, form), None)
        case EpImpl.RING:
            gathered = Routing(*(_gathered(part) for part in routing))
            return Entered(_gathered(x), _own(gathered, form), None)
        case EpImpl.ALL_TO_ALL | EpImpl.RAGGED_ALL_TO_ALL:
            return _send(x, routing, form)


def leave(output: Float[Array, "tokens hidden"], sent: Sent | None, form: Form) -> Float[Array, "own hidden"]:
    """The sums over all experts of the tokens that this device owns."""
    match form.impl:
        case None:
            return output
        case EpImpl.PSUM:
            return jax.lax.psum(output, EXPERT_AXIS)
        case EpImpl.RING:
            return jax.lax.psum_scatter(output, EXPERT_AXIS, scatter_dimension=0, tiled=True)
        case EpImpl.ALL_TO_ALL | EpImpl.RAGGED_ALL_TO_ALL:
            assert sent is not None  # noqa: S101  what was sent comes back the same way
            rows = _returned(output, sent, form)
            # The experts' device has weighted the rows: a token's are only summed.
            ones = jnp.ones((sent.permutation.inverse.size // form.topk, form.topk), jnp.float32)
            summed = combine(rows.astype(sum_dtype(rows.dtype)), sent.permutation, varying(ones), True, weighted=False)
            return summed.astype(output.dtype)


def varying(tree: Any) -> Any:
    """The same arrays, as ones that may differ between devices. The gradient of one that does not is a sum over them:
    it is taken where this stands, and so once, whatever is computed with it."""

    def one(array: Array) -> Array:
        missing = {DATA_AXIS, EXPERT_AXIS} - varies_over(array)
        return jax.lax.pcast(array, tuple(sorted(missing)), to="varying") if missing else array

    return jax.tree.map(one, tree)


def _gathered(array: Array) -> Array:
    return jax.lax.all_gather(array, EXPERT_AXIS, axis=0, tiled=True)


def _own(routing: Routing, form: Form) -> Routing:
    """Experts of other devices are null here."""
    local = routing.experts - jax.lax.axis_index(EXPERT_AXIS) * form.local_experts
    mine = (local >= 0) & (local < form.local_experts)
    return Routing(experts=jnp.where(mine, local, form.local_experts), weights=varying(routing.weights))


def _send(x: Float[Array, "tokens hidden"], routing: Routing, form: Form) -> Entered:
    """Each row goes to the device of its expert, as a token of its own with one expert."""
    target = routing.experts // form.local_experts
    exact = form.impl is EpImpl.RAGGED_ALL_TO_ALL
    # Of buffers of one size each device's is padded; exact ones lie one behind the other, and padding behind all.
    padded = Layout(rows=form.ep * form.rows, capacity=form.rows, padded=True)
    layout = Layout(rows=form.rows, capacity=form.capacity, filled=True) if exact else padded
    permutation = sort_by_expert(target, form.ep, strategy=form.strategy, layout=layout)
    slots = jnp.where(target < form.ep, routing.experts % form.local_experts, form.local_experts).reshape(-1)
    local = slots.at[permutation.order].get(mode="fill", fill_value=form.local_experts)
    sent = Sent(permutation=permutation, counts=_counts(target, form))
    parts = dispatch(x, permutation, True), local, row_weights(permutation, routing.weights, True)
    if exact:
        rows, experts, weights = (
            _ragged(part, fill, form.received, _way_there(sent.counts))
            for part, fill in zip(parts, (0, form.local_experts, 0), strict=True)
        )
    else:
        rows, experts, weights = (_all_to_all(part) for part in parts)
    return Entered(rows, Routing(experts=experts[:, None], weights=weights[:, None]), sent)


def _returned(output: Float[Array, "received hidden"], sent: Sent, form: Form) -> Float[Array, "rows hidden"]:
    if form.impl is EpImpl.ALL_TO_ALL:
        return _all_to_all(output)
    return _ragged(output, 0, form.rows, _way_back(sent.counts))


def _all_to_all(array: Array) -> Array:
    return jax.lax.all_to_all(array, EXPERT_AXIS, split_axis=0, concat_axis=0, tiled=True)


def _counts(target: Int32[Array, "tokens topk"], form: Form) -> Int32[Array, "ep ep"]:
    """Rows from each device (first) to each (last). Only the ragged form asks for them."""
    if form.impl is not EpImpl.RAGGED_ALL_TO_ALL:
        return varying(jnp.zeros((form.ep, form.ep), jnp.int32))
    sizes = jnp.bincount(target.reshape(-1), length=form.ep + 1).astype(jnp.int32)[: form.ep]
    kept = sizes if form.capacity is None else jnp.minimum(sizes, form.capacity)
    return _gathered(kept[None])


class _Way(NamedTuple):
    """Where the parts for each device begin here, how long they are, where they begin there, and how long those are
    that come from each."""

    input_offsets: Int32[Array, " ep"]
    send_sizes: Int32[Array, " ep"]
    output_offsets: Int32[Array, " ep"]
    recv_sizes: Int32[Array, " ep"]


def _way_there(counts: Int32[Array, "ep ep"]) -> _Way:
    here = jax.lax.axis_index(EXPERT_AXIS)
    before_in_source, before_in_target = _before(counts, 1), _before(counts, 0)
    return _Way(before_in_source[here], counts[here], before_in_target[here], counts[:, here])


def _way_back(counts: Int32[Array, "ep ep"]) -> _Way:
    here = jax.lax.axis_index(EXPERT_AXIS)
    before_in_source, before_in_target = _before(counts, 1), _before(counts, 0)
    return _Way(before_in_target[:, here], counts[:, here], before_in_source[:, here], counts[here])


def _before(counts: Int32[Array, "ep ep"], axis: int) -> Int32[Array, "ep ep"]:
    return jnp.cumsum(counts, axis=axis) - counts


def _ragged(array: Array, fill: int, rows: int, way: _Way) -> Array:
    into = varying(jnp.full((rows, *array.shape[1:]), fill, array.dtype))
    return jax.lax.ragged_all_to_all(array, into, *way, axis_name=EXPERT_AXIS)
