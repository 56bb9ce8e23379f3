"""What a backend may offer besides its products: the whole gated expert as one operation."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from bench_core.arrays import Array, Float, Int32, Sums


class ExpertRows(NamedTuple):
    """The rows of all experts, sorted by expert. Expert g owns `group_sizes[g]` of them; further rows mean nothing.

    `token[r]` is the token whose activations are row r (always a token: rows without one are not served), and
    `weight[r]` its routing weight. A named tuple, so that it passes into compiled functions as it is.
    """

    token: Int32[Array, " rows"]
    weight: Sums[Array, " rows"]
    group_sizes: Int32[Array, " g"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedInputs:
    """What the experts are given. One is (silu(x @ w1) * (x @ w3)) @ w2. `up_weights` is (w1, w3), or (w13,) with both
    side by side; `down_weights` is w2. All have one dtype."""

    x: Float[Array, "tokens hidden"]
    up_weights: tuple[Float[Array, "g hidden _"], ...]
    down_weights: Float[Array, "g mlp hidden"]
    rows: ExpertRows


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


class GatedExperts(ABC):
    """Every product accumulates as in `GroupedMatmul`; what is between two products is of that dtype too."""

    skips_rows: ClassVar[bool] = False
    """Whether it serves rows behind those of all groups, which mean nothing."""

    @abstractmethod
    def gated_forward(
        self, inputs: GatedInputs, *, keep: bool
    ) -> tuple[Sums[Array, "padded hidden"], tuple[Sums[Array, "padded _"], ...]]:
        """The experts' result for every row, and when `keep` says so, each of x @ up_weights for `gated_backward`.
        Rows past the last one mean nothing."""

    @abstractmethod
    def gated_backward(
        self, inputs: GatedInputs, kept: tuple[Sums[Array, "padded _"], ...], cotangent: Sums[Array, "tokens hidden"]
    ) -> GatedGradients:
        """The gradients of sum over rows of weight[r] * result[r] . cotangent[token[r]]. Cotangents are rounded to the
        dtype before each product."""
