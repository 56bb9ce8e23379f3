"""The routed experts on a CPU: one loop over experts and, inside, over static row tiles.

Within a tile all products of its rows follow one another while the rows are in cache: the rows of x and of the upstream
gradient are gathered there, so that sorted copies of them exist only as tiles.
"""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from bench_core.arrays import Array, Int32, Shaped, Sums
from bench_core.blocks.gated import GatedGradients, GatedInputs, Kept, activation_gradients, gate_and_up
from bench_core.gmm.base import product
from bench_core.gmm.tile import Rung, ladder
from bench_core.gmm.tiled import Tiled
from bench_core.gmm.tiled_loops import Buffers, Operands, Parts, over_groups, padded_rows, within, zero_unless
from bench_core.gmm.varying import varying_as
from bench_core.quant import round_to, sum_dtype


@dataclass(frozen=True, slots=True)
class Experts:
    """See `blocks.gated.GatedExperts`."""

    backend: Tiled

    def forward(self, inputs: GatedInputs, *, keep: bool) -> tuple[Sums[Array, "padded hidden"], Kept]:
        return _rows(inputs, _RowTiles.of(inputs, narrow=self.backend.narrow), keep=keep)

    def backward(self, inputs: GatedInputs, kept: Kept, cotangent: Sums[Array, "tokens hidden"]) -> GatedGradients:
        return _gradients(inputs, _RowTiles.of(inputs, narrow=self.backend.narrow), kept, cotangent)


@dataclass(frozen=True, slots=True, kw_only=True)
class _RowTiles:
    """Tiles of the rows of `x`, as `operands` carries it. `token` and `weight` are as in `GatedInputs`, with one
    largest tile to spare."""

    operands: Operands
    x: Shaped[Array, "tokens hidden"]
    token: Int32[Array, " padded"]
    weight: Sums[Array, " padded"]
    ladder: tuple[Rung, ...]

    @classmethod
    def of(cls, inputs: GatedInputs, *, narrow: bool) -> "_RowTiles":
        operands = Operands(dtype=inputs.x.dtype, narrow=narrow)
        tiles = ladder(inputs.token.shape[0], inputs.group_sizes.shape[0], close=True)
        token, weight = (padded_rows(own, tiles) for own in (inputs.token, inputs.weight))
        return cls(operands=operands, x=operands.carried(inputs.x), token=token, weight=weight, ladder=tiles)

    @property
    def sums(self) -> jnp.dtype:
        return sum_dtype(self.operands.dtype)

    def buffer(self, width: int, *others: Array) -> Sums[Array, "padded width"]:
        return varying_as(jnp.zeros((self.token.shape[0], width), self.sums), self.x, *others)

    def tokens(self, at: Int32[Array, ""], size: int) -> Int32[Array, " tile"]:
        return jax.lax.dynamic_slice_in_dim(self.token, at, size)

    def weights(self, at: Int32[Array, ""], size: int) -> Sums[Array, "tile 1"]:
        return jax.lax.dynamic_slice_in_dim(self.weight, at, size)[:, None].astype(self.sums)

    def own_rows(self, token: Int32[Array, " tile"]) -> Shaped[Array, "tile hidden"]:
        return self.x.at[token].get(mode="promise_in_bounds")


def _rows(inputs: GatedInputs, tiles: _RowTiles, *, keep: bool) -> tuple[Array, Kept]:
    """See `GatedExperts.forward`."""
    up_weights, down_weights, operands = inputs.up_weights, inputs.down_weights, tiles.operands

    def of_group(index: Array, _: Array) -> Parts:
        *ups, down = (operands.matrix(own, index) for own in (*up_weights, down_weights))

        def results(at: Array, size: int) -> tuple[Buffers, tuple[()]]:
            own = operands.multiplied(tiles.own_rows(tiles.tokens(at, size)))
            projected = tuple(product(own, matrix, (1, 0)) for matrix in ups)
            gate, up = gate_and_up(projected)
            result = product(operands.rounded(jax.nn.silu(gate) * up), down, (1, 0))
            return ((result, *projected) if keep else (result,)), ()

        return results

    widths = [down_weights.shape[2], *(own.shape[2] for own in up_weights if keep)]
    buffers = tuple(tiles.buffer(width, down_weights) for width in widths)
    (out, *kept), _ = over_groups(tiles.ladder, inputs.group_sizes, buffers, (), of_group)
    return out, tuple(kept)


def _gradients(inputs: GatedInputs, tiles: _RowTiles, kept: Kept, cotangent: Array) -> GatedGradients:
    """See `GatedExperts.backward`."""
    operands, weights = tiles.operands, (*inputs.up_weights, inputs.down_weights)

    def of_group(index: Array, end: Array) -> Parts:
        *ups, down = (operands.matrix(own, index) for own in weights)

        def parts(at: Array, size: int) -> tuple[Buffers, tuple[Array, ...]]:
            """What the rows add to the gradient of x and to the weights' (up, then down), as sums.

            Rows of other experts are zeros in every operand: zero times the infinity of such a row is not zero.
            """
            own, token = within(at, size, end), tiles.tokens(at, size)
            left = operands.multiplied(zero_unless(own, tiles.own_rows(token)))
            upstream = cotangent.at[token].get(mode="promise_in_bounds") * tiles.weights(at, size)
            upstream = operands.rounded(zero_unless(own, upstream))
            products = gate_and_up([jax.lax.dynamic_slice_in_dim(part, at, size) for part in kept])
            gate, up = (zero_unless(own, part) for part in products)
            # Rounded as the gradient of every matmul operand is.
            grad_hidden = round_to(product(upstream, down, (1, 1)), operands.dtype).astype(tiles.sums)
            hidden, *grads = activation_gradients(gate, up, grad_hidden)
            grads = [operands.rounded(part) for part in grads]
            if len(ups) == 1:
                grads = [jnp.concatenate(grads, axis=-1)]
            to_rows = [product(part, matrix, (1, 1)) for part, matrix in zip(grads, ups, strict=True)]
            to_down = operands.rows_dot(operands.rounded(hidden), upstream)
            return (functools.reduce(jnp.add, to_rows),), (*(operands.rows_dot(left, part) for part in grads), to_down)

        return parts

    def stored(sums: Array) -> Array:
        return operands.carried(round_to(sums, operands.dtype))

    results = tuple(varying_as(jnp.zeros_like(operands.carried(own)), tiles.x, *weights) for own in weights)
    buffers = (tiles.buffer(inputs.x.shape[1], *weights),)
    (rows,), results = over_groups(tiles.ladder, inputs.group_sizes, buffers, results, of_group, stored)
    *ups, down = (operands.valued(result) for result in results)
    return GatedGradients(rows=rows, up_weights=tuple(ups), down_weights=down)
