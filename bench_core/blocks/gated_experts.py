"""The routed experts as one operation with gradients, over a backend that offers it."""

import functools
from dataclasses import dataclass

import jax
from jaxtyping import Array, Float, Float32

from bench_core.gmm.gated import ExpertRows, GatedExperts
from bench_core.routing.permute import Permutation, combine, dispatch_gradient, row_weights, scatter_combine


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedSpec:
    """What is static about it."""

    backend: GatedExperts
    preweight: bool
    scatter: bool

    def combine(
        self, rows: Float32[Array, "padded hidden"], permutation: Permutation, weights: Float32[Array, "tokens topk"]
    ) -> Float32[Array, "tokens hidden"]:
        if self.scatter:
            return scatter_combine(
                rows[: permutation.order.shape[0]], permutation, weights, weighted=not self.preweight
            )
        return combine(rows, permutation, weights, weighted=not self.preweight)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def gated_experts(
    spec: GatedSpec,
    x: Float[Array, "tokens hidden"],
    up_weights: tuple[Float[Array, "g hidden _"], ...],
    down_weights: Float[Array, "g mlp hidden"],
    permutation: Permutation,
    weights: Float32[Array, "tokens topk"],
) -> Float32[Array, "tokens hidden"]:
    """Sum over a token's experts of routing weight * (silu(x @ w1) * (x @ w3)) @ w2.

    Every assignment is real. The routing weights are constants: their gradient is given as zero.
    """
    rows = _expert_rows(permutation, weights)
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
    rows = _expert_rows(permutation, weights)
    out, kept = spec.backend.gated_forward(x, up_weights, down_weights, rows, preweight=spec.preweight, keep=True)
    return spec.combine(out, permutation, weights), (x, up_weights, down_weights, permutation, weights, kept)


def _backward(
    spec: GatedSpec, residuals: _Residuals, cotangent: Float32[Array, "tokens hidden"]
) -> tuple[Array, tuple[Array, ...], Array, None, None]:
    x, up_weights, down_weights, permutation, weights, kept = residuals
    rows = _expert_rows(permutation, weights)
    gradients = spec.backend.gated_backward(
        x, up_weights, down_weights, rows, kept, cotangent, preweight=spec.preweight
    )
    grad_x = dispatch_gradient(gradients.rows, permutation, tokens=x.shape[0], dtype=x.dtype)
    return grad_x, gradients.up_weights, gradients.down_weights, None, None


gated_experts.defvjp(_forward, _backward)


def _expert_rows(permutation: Permutation, weights: Float32[Array, "tokens topk"]) -> ExpertRows:
    return ExpertRows(
        token=permutation.order // weights.shape[1],
        weight=row_weights(permutation, weights),
        group_sizes=permutation.group_sizes,
    )
