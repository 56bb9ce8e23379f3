"""The routed experts as one operation with gradients, by the loops or kernels of a backend that has such."""

import functools
import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp

from bench_core.arrays import Array, Float, Int32, Sums
from bench_core.gmm.base import GroupedMatmul
from bench_core.routing.permute import Permutation, combine, dispatch_gradient, row_weights, weights_gradient


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedInputs:
    """What the experts are given. One is (silu(x @ w1) * (x @ w3)) @ w2. `up_weights` is (w1, w3), or (w13,) with both
    side by side; `down_weights` is w2. All have one dtype.

    Rows are sorted by expert, of which g owns `group_sizes[g]`; further rows mean nothing. `token[r]` is the token
    whose activations are row r (always a token: rows without one are not served), `weight[r]` its routing weight.
    """

    x: Float[Array, "tokens hidden"]
    up_weights: tuple[Float[Array, "g hidden _"], ...]
    down_weights: Float[Array, "g mlp hidden"]
    token: Int32[Array, " rows"]
    weight: Sums[Array, " rows"]
    group_sizes: Int32[Array, " g"]


class GatedGradients(NamedTuple):
    """`rows[r]` is what row r adds to the gradient of its token, a sum; further rows mean nothing. The weights'
    gradients are in the weights' dtype."""

    rows: Sums[Array, "padded hidden"]
    up_weights: tuple[Float[Array, "g hidden _"], ...]
    down_weights: Float[Array, "g mlp hidden"]


def gate_and_up(
    products: Sequence[Sums[Array, "*rows _"]],
) -> tuple[Sums[Array, "*rows mlp"], Sums[Array, "*rows mlp"]]:
    """x @ w1 and x @ w3, which are two products, or the halves of one."""
    gate, up = products if len(products) == 2 else jnp.split(products[0], 2, axis=-1)
    return gate, up


def activation_gradients(
    gate: Sums[Array, "*rows mlp"], up: Sums[Array, "*rows mlp"], grad_hidden: Sums[Array, "*rows mlp"]
) -> tuple[Sums[Array, "*rows mlp"], Sums[Array, "*rows mlp"], Sums[Array, "*rows mlp"]]:
    """hidden = silu(gate) * up, and the gradients of gate and up.

    With s = sigmoid(gate): hidden = gate s up, d gate = d hidden up (s + gate s (1 - s)), d up = d hidden gate s.
    """
    sigmoid = jax.nn.sigmoid(gate)
    activated = gate * sigmoid
    grad_gate = grad_hidden * up * (sigmoid + activated * (1.0 - sigmoid))
    return activated * up, grad_gate, grad_hidden * activated


Kept = tuple[Sums[Array, "padded _"], ...]
"""Each of x @ up_weights for every row, or nothing."""


@runtime_checkable
class GatedExperts(Protocol):
    """Every product accumulates as in `GroupedMatmul`; what is between two products is of that dtype too. Rows behind
    those of all groups mean nothing. Instances are hashable: they are static arguments of compiled functions."""

    def forward(self, inputs: GatedInputs, *, keep: bool) -> tuple[Sums[Array, "padded hidden"], Kept]:
        """The experts' result for every row, and what `backward` needs of it when `keep` says so."""

    def backward(self, inputs: GatedInputs, kept: Kept, cotangent: Sums[Array, "tokens hidden"]) -> GatedGradients:
        """The gradients of sum over rows of weight[r] * result[r] . cotangent[token[r]]. Cotangents are rounded to the
        dtype before each product."""


_MODULES = {"tiled": "bench_core.blocks.gated_tiled", "pallas_gpu": "bench_core.blocks.gated_pallas"}
"""By name of the backend whose loops or kernels compute the experts; imported when they are asked for."""


def gated_by(backend: GroupedMatmul) -> GatedExperts | None:
    """The experts as one operation, by the code of this backend; None where it has none."""
    if backend.name not in _MODULES:
        return None
    return importlib.import_module(_MODULES[backend.name]).Experts(backend)


BEHIND_ALL = 2**31 - 1
"""A row that no buffer has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedSpec:
    """What is static about it. `partial`: see `routing.permute`; rows without an assignment are in no group then."""

    experts: GatedExperts
    partial: bool = False

    def combine(
        self, rows: Sums[Array, "padded hidden"], permutation: Permutation, weights: Sums[Array, "tokens topk"]
    ) -> Sums[Array, "tokens hidden"]:
        return combine(rows, self.past_the_buffers(permutation), weights, self.partial)

    def past_the_buffers(self, permutation: Permutation) -> Permutation:
        """Where an assignment has no row, its row is one past the last. The backend's buffers have further ones, which
        mean nothing: the row to read zeros for is behind them."""
        if not self.partial:
            return permutation
        none = permutation.inverse == permutation.order.shape[0]
        return permutation._replace(inverse=jnp.where(none, BEHIND_ALL, permutation.inverse))


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def gated_experts(
    spec: GatedSpec,
    x: Float[Array, "tokens hidden"],
    up_weights: tuple[Float[Array, "g hidden _"], ...],
    down_weights: Float[Array, "g mlp hidden"],
    permutation: Permutation,
    weights: Sums[Array, "tokens topk"],
) -> Sums[Array, "tokens hidden"]:
    """Sum over a token's experts of routing weight * (silu(x @ w1) * (x @ w3)) @ w2.

    A program without the gradient of the routing weights neither computes it nor keeps the results of the rows for it.
    """
    inputs = _inputs(spec, x, up_weights, down_weights, permutation, weights)
    out, _ = spec.experts.forward(inputs, keep=False)
    return spec.combine(out, permutation, weights)


def _forward(spec: GatedSpec, *given: Any) -> tuple[Array, tuple[Any, ...]]:
    """`given`: the arrays of `gated_experts`, which are kept with the products of the up weights."""
    out, kept = spec.experts.forward(_inputs(spec, *given), keep=True)
    _, _, _, permutation, weights = given
    return spec.combine(out, permutation, weights), (given, kept, out)


def _backward(
    spec: GatedSpec, residuals: tuple[Any, ...], cotangent: Sums[Array, "tokens hidden"]
) -> tuple[Array, tuple[Array, ...], Array, None, Array]:
    given, kept, out = residuals
    gradients = spec.experts.backward(_inputs(spec, *given), kept, cotangent)
    x, _, _, permutation, weights = given
    past = spec.past_the_buffers(permutation)
    grad_x = dispatch_gradient(gradients.rows, past, spec.partial, tokens=x.shape[0], dtype=x.dtype)
    grad_weights = weights_gradient(out, past, weights, cotangent, spec.partial)
    return grad_x, gradients.up_weights, gradients.down_weights, None, grad_weights


gated_experts.defvjp(_forward, _backward)


def _inputs(
    spec: GatedSpec, x: Array, ups: tuple[Array, ...], down: Array, permutation: Permutation, weights: Array
) -> GatedInputs:
    token = permutation.order // weights.shape[1]
    return GatedInputs(
        x=x,
        up_weights=ups,
        down_weights=down,
        # A tile may read rows behind its group's, which it masks: they too must name a token.
        token=jnp.minimum(token, weights.shape[0] - 1) if spec.partial else token,
        weight=row_weights(permutation, weights, spec.partial),
        group_sizes=permutation.group_sizes,
    )
