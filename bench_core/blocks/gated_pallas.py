"""The routed experts on a GPU: Pallas kernels, of which the first reads the rows of x where they are."""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from bench_core.arrays import Array, Float, Sums
from bench_core.blocks.gated import GatedGradients, GatedInputs, Kept, activation_gradients, gate_and_up
from bench_core.gmm.pallas_gpu import PallasGpu, groups_product, rows_product
from bench_core.gmm.pallas_gpu_tiles import (
    SMALLEST,
    Blocks,
    Part,
    Ref,
    RowsGrid,
    launch,
    load,
    load_row_values,
    multiplied,
    store,
)
from bench_core.quant import round_to


@dataclass(frozen=True, slots=True)
class Experts:
    """See `blocks.gated.GatedExperts`."""

    backend: PallasGpu

    def forward(self, inputs: GatedInputs, *, keep: bool) -> tuple[Sums[Array, "padded hidden"], Kept]:
        return self._kernels(inputs).forward(keep=keep)

    def backward(self, inputs: GatedInputs, kept: Kept, cotangent: Sums[Array, "tokens hidden"]) -> GatedGradients:
        return self._kernels(inputs).backward(kept, cotangent)

    def _kernels(self, inputs: GatedInputs) -> "_GatedKernels":
        return _GatedKernels(inputs=inputs, blocks=self.backend.blocks_for(inputs.x))


@dataclass(frozen=True, slots=True, kw_only=True)
class _GatedKernels:
    """The two passes over the experts, with tiles of one size in all their products."""

    inputs: GatedInputs
    blocks: Blocks

    def forward(self, *, keep: bool) -> tuple[Array, Kept]:
        """See `GatedExperts.forward`."""
        hidden, kept = self._activated(keep=keep)
        return self._of_rows([(hidden, self.inputs.down_weights)], transposed=False), kept

    def backward(self, kept: Kept, cotangent: Array) -> GatedGradients:
        """See `GatedExperts.backward`."""
        x, token = self.inputs.x, self.inputs.token
        upstream = round_to(cotangent[token] * self.inputs.weight[:, None], x.dtype)
        hidden, grads = self._activation_gradients(upstream, kept)
        # Read by a kernel again and again, unlike in the forward pass: sorted once.
        left = x[token]
        return GatedGradients(
            rows=self._of_rows(list(zip(grads, self.inputs.up_weights, strict=True)), transposed=True),
            up_weights=tuple(self._of_groups(left, grad) for grad in grads),
            down_weights=self._of_groups(hidden, upstream),
        )

    def _activated(self, *, keep: bool) -> tuple[Float[Array, "rows mlp"], Kept]:
        """silu(x @ w1) * (x @ w3) of every row in x's dtype, and if `keep` says so what came of the two products.

        Rows of x are read where they are.
        """
        x, up_weights, token = self.inputs.x, self.inputs.up_weights, self.inputs.token
        count, inner, width = token.shape[0], x.shape[1], self.inputs.down_weights.shape[1]
        # Two sums in the registers of one.
        blocks = replace(self.blocks, n=max(SMALLEST, self.blocks.n // 2))
        grid = RowsGrid.of(count, width, inner, self.inputs.group_sizes, blocks)

        def kernel(group: Ref, start: Ref, end: Ref, token_ref: Ref, x_ref: Ref, *refs: Ref) -> None:
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
            store(out, hidden, place.rows, place.columns)

        kept_shapes = [((count, own.shape[2]), jnp.float32) for own in up_weights if keep]
        out, *kept = launch(
            kernel,
            [*grid.tiles, token, x, *up_weights],
            [((count, width), x.dtype), *kept_shapes],
            programs=grid.shape,
            blocks=grid.blocks,
        )
        return out, tuple(kept)

    def _activation_gradients(self, upstream: Array, kept: Kept) -> tuple[Array, tuple[Array, ...]]:
        """The activations once more, and the gradients of the products that `kept` holds, in the upstream's dtype.

        XLA computes them: in the kernel of the product they would take more registers than a GPU has.
        """
        dtype = upstream.dtype
        # Rounded as the gradient of every matmul operand is.
        product = self._of_rows([(upstream, self.inputs.down_weights)], transposed=True, dtype=dtype)
        grad_hidden = product.astype(jnp.float32)
        hidden, *parts = activation_gradients(*gate_and_up(kept), grad_hidden)
        grads = [round_to(part, dtype) for part in parts]
        if len(kept) == 1:
            grads = [jnp.concatenate(grads, axis=-1)]
        return round_to(hidden, dtype), tuple(grads)

    def _of_rows(self, pairs: list[tuple[Array, Array]], *, transposed: bool, dtype: Any = jnp.float32) -> Array:
        sizes = self.inputs.group_sizes
        return rows_product(pairs, sizes, transposed=transposed, dtype=dtype, blocks=self.blocks)

    def _of_groups(self, lhs: Array, cotangent: Array) -> Array:
        sizes = self.inputs.group_sizes
        return groups_product(lhs, cotangent, sizes, dtype=lhs.dtype, blocks=self.blocks)


def _halves(refs: tuple[Ref, ...] | list[Ref], columns: Part, width: int) -> list[tuple[Ref, Part]]:
    """Where gate and up have these columns: in an array each, or side by side in one that is twice as wide."""
    if len(refs) == 1:
        return [(refs[0], columns), (refs[0], columns.shifted(width))]
    return [(ref, columns) for ref in refs]
