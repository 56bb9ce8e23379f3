"""The routed experts as one operation with gradients, over a backend that offers it."""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Float32

from bench_core.gmm.gated import ExpertRows, GatedExperts
from bench_core.quant.sums import Sums
from bench_core.routing.permute import Permutation, combine, dispatch_gradient, row_weights, scatter_combine

BEHIND_ALL = 2**31 - 1
"""A row that no buffer has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedSpec:
    """What is static about it. `partial`: see `routing.permute`; rows without an assignment are in no group then."""

    backend: GatedExperts
    preweight: bool
    scatter: bool
    partial: bool = False

    def combine(
        self, rows: Sums[Array, "padded hidden"], permutation: Permutation, weights: Float32[Array, "tokens topk"]
    ) -> Sums[Array, "tokens hidden"]:
        weighted = not self.preweight
        if self.scatter:
            own = rows[: permutation.order.shape[0]]
            return scatter_combine(own, permutation, weights, self.partial, weighted=weighted)
        return combine(rows, self.past_the_buffers(permutation), weights, self.partial, weighted=weighted)

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
    weights: Float32[Array, "tokens topk"],
) -> Sums[Array, "tokens hidden"]:
    """Sum over a token's experts of routing weight * (silu(x @ w1) * (x @ w3)) @ w2.

    The routing weights are constants: their gradient is given as zero.
    """
    rows = _expert_rows(spec, permutation, weights)
    out, _ = spec.backend.gated_forward(x, up_weights, down_weights, rows, preweight=spec.preweight, keep=False)
    return spec.combine(out, permutation, weights)


_Residuals = tuple[Array, tuple[Array, ...], Array, Permutation, Array, tuple[Array, ...]]


def _forward(
    spec: GatedSpec,
    x: Float[Array, "tokens hidden"],
    up_weights: tuple[Float[Array, "g hidden _"], ...],
    down_weights: Float[Array, "g mlp hidden"],
    permutation: Permutation,
    weights: Float32[Array, "tokens topk"],
) -> tuple[Array, _Residuals]:
    rows = _expert_rows(spec, permutation, weights)
    out, kept = spec.backend.gated_forward(x, up_weights, down_weights, rows, preweight=spec.preweight, keep=True)
    return spec.combine(out, permutation, weights), (x, up_weights, down_weights, permutation, weights, kept)


def _backward(
    spec: GatedSpec, residuals: _Residuals, cotangent: Sums[Array, "tokens hidden"]
) -> tuple[Array, tuple[Array, ...], Array, None, None]:
    x, up_weights, down_weights, permutation, weights, kept = residuals
    rows = _expert_rows(spec, permutation, weights)
    gradients = spec.backend.gated_backward(
        x, up_weights, down_weights, rows, kept, cotangent, preweight=spec.preweight
    )
    grad_x = dispatch_gradient(
        gradients.rows, spec.past_the_buffers(permutation), spec.partial, tokens=x.shape[0], dtype=x.dtype
    )
    return grad_x, gradients.up_weights, gradients.down_weights, None, None


gated_experts.defvjp(_forward, _backward)


def _expert_rows(spec: GatedSpec, permutation: Permutation, weights: Float32[Array, "tokens topk"]) -> ExpertRows:
    token = permutation.order // weights.shape[1]
    return ExpertRows(
        # A tile may read rows behind its group's, which it masks: they too must name a token.
        token=jnp.minimum(token, weights.shape[0] - 1) if spec.partial else token,
        weight=row_weights(permutation, weights, spec.partial),
        group_sizes=permutation.group_sizes,
    )
