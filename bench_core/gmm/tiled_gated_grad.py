"""The backward pass of the gated experts as one loop over experts and, inside, over static row tiles.

See `tiled_gated` for what the two passes share.
"""

import functools
import itertools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32

from bench_core.gmm.gated import GatedGradients, GatedInputs
from bench_core.gmm.tiled_bits import bits, dot, valued
from bench_core.gmm.tiled_gated import RowTiles, halves, matrices_of
from bench_core.gmm.tiled_ladder import Tile
from bench_core.gmm.varying import varying_as
from bench_core.quant.rounding import round_to
from bench_core.quant.sums import Sums, sum_dtype

_Carry = tuple[Array, Array, tuple[Array, ...]]
"""The next row that is to be computed, int32 []; the gradient rows so far; the expert's weight gradients so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _ExpertBackward:
    """The backward pass of one expert: its rows [start, end), its matrices, and what all experts share."""

    tiles: RowTiles
    kept: tuple[Sums[Array, "padded _"], ...]
    cotangent: Sums[Array, "tokens hidden"]
    ups: tuple[Float[Array, "hidden _"], ...]
    down: Float[Array, "mlp hidden"]
    start: Int32[Array, ""]
    end: Int32[Array, ""]
    preweight: bool

    def gradients(self, size: int, at: Int32[Array, ""]) -> tuple[Array, tuple[Array, ...]]:
        """What the rows [at, at + size) add to the gradient of x and to the weight gradients (up, then down), as sums.

        With s = sigmoid(gate): hidden = gate s up, d gate = d hidden up (s + gate s (1 - s)), d up = d hidden gate s.
        Rows of other experts are zeros in every operand: zero times the infinity of such a row is not zero.
        """
        own: Bool[Array, "tile 1"] = (at + jnp.arange(size, dtype=jnp.int32) < self.end)[:, None]
        token, weight = self.tiles.tokens(at, size), self.tiles.weights(at, size)
        dtype = self.tiles.dtype
        left = self.tiles.own_rows(token)
        left = valued(jnp.where(own, left, jnp.zeros((), left.dtype)), dtype)
        upstream = self.cotangent.at[token].get(mode="promise_in_bounds")
        upstream = round_to(jnp.where(own, upstream if self.preweight else upstream * weight, 0.0), dtype)
        gate, up = (
            jnp.where(own, part, 0.0)
            for part in halves(tuple(jax.lax.dynamic_slice_in_dim(part, at, size) for part in self.kept))
        )
        sigmoid = jax.nn.sigmoid(gate)
        activated = gate * sigmoid
        hidden = activated * up
        # Rounded as the gradient of every matmul operand is.
        grad_hidden = round_to(dot(upstream, self.down, (1, 1)), dtype).astype(sum_dtype(dtype))
        if self.preweight:
            hidden, grad_hidden = hidden * weight, grad_hidden * weight
        grad_gate = grad_hidden * up * (sigmoid + activated * (1.0 - sigmoid))
        grads = [round_to(part, dtype) for part in (grad_gate, grad_hidden * activated)]
        if len(self.ups) == 1:
            grads = [jnp.concatenate(grads, axis=-1)]
        grad_rows = functools.reduce(
            jnp.add, [dot(part, matrix, (1, 1)) for part, matrix in zip(grads, self.ups, strict=True)]
        )
        down = dot(round_to(hidden, dtype), upstream, (0, 0))
        return grad_rows, (*(dot(left, part, (0, 0)) for part in grads), down)

    def first_tile(self, tile: Tile, above: Tile, carry: _Carry) -> _Carry:
        """Make the weight gradients with a tile, where the expert's rows call for `tile` and not for `above`.

        Most experts have one tile when there are many experts. Then nothing is added to an array in memory.
        """

        def make(carry: _Carry) -> _Carry:
            at, buffer, _ = carry
            grad_rows, gradients = self.gradients(tile.rows, at)
            return at + tile.rows, jax.lax.dynamic_update_slice_in_dim(buffer, grad_rows, at, axis=0), gradients

        size = self.end - self.start
        wanted = (size >= tile.least) & (size < above.least)
        # Not a conditional: the compiler would copy all gradient rows into and out of it.
        made: _Carry = jax.lax.while_loop(lambda carry: wanted & (carry[0] == self.start), make, carry)
        return made

    def further_tiles(self, tile: Tile, carry: _Carry) -> _Carry:
        """Add the gradients of `tile`s as long as one is worth it. At the first row, what is there is not ours."""

        def add(carry: _Carry) -> _Carry:
            at, buffer, so_far = carry
            grad_rows, gradients = self.gradients(tile.rows, at)
            sums = tuple(
                jnp.where(at == self.start, 0.0, before) + gradient
                for before, gradient in zip(so_far, gradients, strict=True)
            )
            return at + tile.rows, jax.lax.dynamic_update_slice_in_dim(buffer, grad_rows, at, axis=0), sums

        added: _Carry = jax.lax.while_loop(lambda carry: self.end - carry[0] >= tile.least, add, carry)
        return added


def gated_gradients(
    inputs: GatedInputs,
    tiles: RowTiles,
    kept: tuple[Sums[Array, "padded _"], ...],
    cotangent: Sums[Array, "tokens hidden"],
) -> GatedGradients:
    """See `GatedExperts.gated_backward`."""
    x, sizes = tiles.x, inputs.rows.group_sizes
    ends = jnp.cumsum(sizes)
    weights = (*inputs.up_weights, inputs.down_weights)

    def one_group(index: Array, carry: tuple[Array, tuple[Array, ...], tuple[Array, ...]]) -> tuple[Any, ...]:
        buffer, so_far, results = carry
        *ups, down = matrices_of(weights, index)
        own = _ExpertBackward(
            tiles=tiles,
            kept=kept,
            cotangent=cotangent,
            ups=tuple(ups),
            down=down,
            start=ends[index] - sizes[index],
            end=ends[index],
            preweight=inputs.preweight,
        )
        state = (own.start, buffer, so_far)
        for above, tile in itertools.pairwise(tiles.ladder[:-1]):
            state = own.first_tile(tile, above, state)
        for tile in tiles.ladder:
            state = own.further_tiles(tile, state)
        _, buffer, so_far = state
        done = (round_to(jnp.where(own.end > own.start, sums, 0.0), tiles.dtype) for sums in so_far)
        results = tuple(
            jax.lax.dynamic_update_index_in_dim(result, bits(gradient), index, axis=0)
            for result, gradient in zip(results, done, strict=True)
        )
        return buffer, so_far, results

    carry = jax.tree.map(
        lambda zeros: varying_as(zeros, x, *weights),
        (
            jnp.zeros((tiles.padded, x.shape[1]), sum_dtype(x.dtype)),
            tuple(jnp.zeros(own.shape[1:], sum_dtype(x.dtype)) for own in weights),
            tuple(jnp.zeros_like(bits(own)) for own in weights),
        ),
    )
    buffer, _, results = jax.lax.fori_loop(0, sizes.shape[0], one_group, carry)
    *ups, down = (valued(result, tiles.dtype) for result in results)
    return GatedGradients(rows=buffer, up_weights=tuple(ups), down_weights=down)
