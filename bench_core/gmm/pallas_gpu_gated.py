"""The gated experts on a GPU, where gate, up and activation of the forward pass are one kernel."""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Float32

from bench_core.gmm.gated import GatedGradients, GatedInputs
from bench_core.gmm.pallas_gpu_kernels import RowsGrid, groups_product, launch, multiplied, rows_product
from bench_core.gmm.pallas_gpu_tiles import SMALLEST, Blocks, Part, Ref, load, load_row_values, store
from bench_core.quant.rounding import round_to


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedKernels:
    """The two passes over the experts, with tiles of one size in all their products."""

    inputs: GatedInputs
    blocks: Blocks
    interpret: bool

    def forward(self, *, keep: bool) -> tuple[Float32[Array, "rows hidden"], tuple[Float32[Array, "rows _"], ...]]:
        """See `GatedExperts.gated_forward`."""
        hidden, kept = self._activated(keep=keep)
        return self._rows_product([(hidden, self.inputs.down_weights)], transposed=False), kept

    def backward(
        self, kept: tuple[Float32[Array, "rows _"], ...], cotangent: Float32[Array, "tokens hidden"]
    ) -> GatedGradients:
        """See `GatedExperts.gated_backward`."""
        x, rows = self.inputs.x, self.inputs.rows
        own = cotangent[rows.token] if self.inputs.preweight else cotangent[rows.token] * rows.weight[:, None]
        upstream = round_to(own, x.dtype)
        hidden, grads = self._activation_gradients(upstream, kept)
        # Read by a kernel again and again, unlike in the forward pass: sorted once.
        left = x[rows.token]
        return GatedGradients(
            rows=self._rows_product(list(zip(grads, self.inputs.up_weights, strict=True)), transposed=True),
            up_weights=tuple(self._groups_product(left, grad) for grad in grads),
            down_weights=self._groups_product(hidden, upstream),
        )

    def _activated(self, *, keep: bool) -> tuple[Float[Array, "rows mlp"], tuple[Float32[Array, "rows _"], ...]]:
        """silu(x @ w1) * (x @ w3) of every row in x's dtype, and if `keep` says so what came of the two products.

        Rows of x are read where they are. With `preweight` the result has the row's weight.
        """
        x, up_weights, rows = self.inputs.x, self.inputs.up_weights, self.inputs.rows
        count, inner, width = rows.token.shape[0], x.shape[1], self.inputs.down_weights.shape[1]
        # Two sums in the registers of one.
        blocks = replace(self.blocks, n=max(SMALLEST, self.blocks.n // 2))
        grid = RowsGrid.of(count, width, inner, rows.group_sizes, blocks)

        def kernel(group: Ref, start: Ref, end: Ref, token_ref: Ref, weight_ref: Ref, x_ref: Ref, *refs: Ref) -> None:
            weights, (out, *kept) = refs[: len(up_weights)], refs[len(up_weights) :]
            place = grid.place(group, start, end)
            tokens = load_row_values(token_ref, place.rows)
            halves = _halves(weights, place.columns, width)

            def products(part: Part, sums: tuple[Array, ...]) -> tuple[Array, ...]:
                left = load(x_ref, place.rows, part, rows=tokens)
                return tuple(
                    total + multiplied(left, load(ref, part, columns, at=place.group))
                    for total, (ref, columns) in zip(sums, halves, strict=True)
                )

            gate, up = grid.summed(place, inner, products, (grid.zeros(), grid.zeros()))
            if keep:
                for part, (ref, columns) in zip((gate, up), _halves(kept, place.columns, width), strict=True):
                    store(ref, part, place.rows, columns)
            hidden = jax.nn.silu(gate) * up
            if self.inputs.preweight:
                hidden = hidden * load_row_values(weight_ref, place.rows)[:, None]
            store(out, hidden, place.rows, place.columns)

        kept_shapes = [((count, own.shape[2]), jnp.float32) for own in up_weights if keep]
        out, *kept = launch(
            kernel,
            [*grid.tiles, rows.token, rows.weight, x, *up_weights],
            [((count, width), x.dtype), *kept_shapes],
            programs=grid.shape,
            blocks=grid.blocks,
            interpret=self.interpret,
        )
        return out, tuple(kept)

    def _activation_gradients(
        self, upstream: Float[Array, "rows hidden"], kept: tuple[Float32[Array, "rows _"], ...]
    ) -> tuple[Float[Array, "rows mlp"], tuple[Float[Array, "rows _"], ...]]:
        """The activations once more, and the gradients of the products that `kept` holds, in the upstream's dtype.

        With s = sigmoid(gate): hidden = gate s up, d gate = d hidden up (s + gate s (1 - s)), d up = d hidden gate s.
        XLA computes them: in the kernel of the product they take more registers than a GPU has.
        """
        dtype = upstream.dtype
        # Rounded as the gradient of every matmul operand is.
        product = self._rows_product([(upstream, self.inputs.down_weights)], transposed=True, dtype=dtype)
        grad_hidden = product.astype(jnp.float32)
        gate, up = kept if len(kept) == 2 else jnp.split(kept[0], 2, axis=-1)
        sigmoid = jax.nn.sigmoid(gate)
        activated = gate * sigmoid
        hidden = activated * up
        if self.inputs.preweight:
            weight = self.inputs.rows.weight[:, None]
            hidden, grad_hidden = hidden * weight, grad_hidden * weight
        grad_gate = grad_hidden * up * (sigmoid + activated * (1.0 - sigmoid))
        grads = [round_to(part, dtype) for part in (grad_gate, grad_hidden * activated)]
        if len(kept) == 1:
            grads = [jnp.concatenate(grads, axis=-1)]
        return round_to(hidden, dtype), tuple(grads)

    def _rows_product(
        self,
        pairs: list[tuple[Float[Array, "rows _"], Float[Array, "g _ _"]]],
        *,
        transposed: bool,
        dtype: Any = jnp.float32,
    ) -> Float[Array, "rows _"]:
        sizes = self.inputs.rows.group_sizes
        return rows_product(
            pairs, sizes, transposed=transposed, dtype=dtype, blocks=self.blocks, interpret=self.interpret
        )

    def _groups_product(self, lhs: Float[Array, "rows k"], cotangent: Float[Array, "rows n"]) -> Float[Array, "g k n"]:
        sizes = self.inputs.rows.group_sizes
        return groups_product(lhs, cotangent, sizes, dtype=lhs.dtype, blocks=self.blocks, interpret=self.interpret)


def _halves(refs: tuple[Ref, ...] | list[Ref], columns: Part, width: int) -> list[tuple[Ref, Part]]:
    """Where gate and up have these columns: in an array each, or side by side in one that is twice as wide."""
    if len(refs) == 1:
        return [(refs[0], columns), (refs[0], columns.shifted(width))]
    return [(ref, columns) for ref in refs]
