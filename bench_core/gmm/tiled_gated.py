"""The forward pass of the gated experts as one loop over experts and, inside, over static row tiles.

Within a tile all products of its rows follow one another while the rows are in cache: the rows of x and of the
upstream gradient are gathered there, so that sorted copies of them exist only as tiles. Buffers of sorted rows
have one largest tile to spare: what a tile writes beyond its expert's rows, the experts that follow overwrite.
"""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Int32, Shaped

from bench_core.gmm.gated import GatedInputs
from bench_core.gmm.tile import RowSizes
from bench_core.gmm.tiled_bits import bits, dot, valued
from bench_core.gmm.tiled_ladder import Tile, ladder
from bench_core.gmm.varying import varying_as
from bench_core.quant.rounding import round_to
from bench_core.quant.sums import Sums, sum_dtype


@dataclass(frozen=True, slots=True, kw_only=True)
class RowTiles:
    """Tiles of the rows of `x`. `token` and `weight` are as in `ExpertRows`, with one largest tile to spare."""

    x: Shaped[Array, "tokens hidden"]
    dtype: jnp.dtype
    token: Int32[Array, " padded"]
    weight: Sums[Array, " padded"]
    ladder: tuple[Tile, ...]

    @classmethod
    def of(cls, inputs: GatedInputs, row_tiles: RowSizes | None = None) -> "RowTiles":
        x, rows = inputs.x, inputs.rows
        tiles = ladder(rows.token.shape[0], rows.group_sizes.shape[0], close=True, row_tiles=row_tiles)
        token, weight = (jnp.pad(own, (0, tiles[0].rows)) for own in (rows.token, rows.weight))
        return cls(x=bits(x), dtype=x.dtype, token=token, weight=weight, ladder=tiles)

    @property
    def padded(self) -> int:
        return int(self.token.shape[0])

    def tokens(self, at: Int32[Array, ""], size: int) -> Int32[Array, " tile"]:
        return jax.lax.dynamic_slice_in_dim(self.token, at, size)

    def weights(self, at: Int32[Array, ""], size: int) -> Sums[Array, "tile 1"]:
        return jax.lax.dynamic_slice_in_dim(self.weight, at, size)[:, None].astype(sum_dtype(self.dtype))

    def own_rows(self, token: Int32[Array, " tile"]) -> Shaped[Array, "tile hidden"]:
        return self.x.at[token].get(mode="promise_in_bounds")


def halves(projected: tuple[Sums[Array, "tile _"], ...]) -> tuple[Array, Array]:
    """The arguments of silu and of the product: x @ w1 and x @ w3."""
    if len(projected) == 2:
        return projected[0], projected[1]
    gate, up = jnp.split(projected[0], 2, axis=-1)
    return gate, up


def matrices_of(stacked: tuple[Float[Array, "g _ _"], ...], index: Int[Array, ""]) -> tuple[Array, ...]:
    """The matrices of expert `index`."""
    return tuple(valued(jax.lax.dynamic_index_in_dim(bits(own), index, keepdims=False), own.dtype) for own in stacked)


def gated_rows(
    inputs: GatedInputs, tiles: RowTiles, *, keep: bool
) -> tuple[Sums[Array, "padded hidden"], tuple[Sums[Array, "padded _"], ...]]:
    """See `GatedExperts.gated_forward`."""
    up_weights, down_weights, sizes = inputs.up_weights, inputs.down_weights, inputs.rows.group_sizes
    ends = jnp.cumsum(sizes)

    def one_group(index: Array, buffers: tuple[Array, ...]) -> tuple[Array, ...]:
        *ups, down = matrices_of((*up_weights, down_weights), index)

        def take(tile: Tile, carry: tuple[Array, tuple[Array, ...]]) -> tuple[Array, tuple[Array, ...]]:
            at, buffers = carry
            own = valued(tiles.own_rows(tiles.tokens(at, tile.rows)), tiles.dtype)
            projected = tuple(dot(own, matrix, (1, 0)) for matrix in ups)
            gate, up = halves(projected)
            hidden = jax.nn.silu(gate) * up
            if inputs.preweight:
                hidden = hidden * tiles.weights(at, tile.rows)
            result = dot(round_to(hidden, tiles.dtype), down, (1, 0))
            made = (result, *projected) if keep else (result,)
            written = tuple(
                jax.lax.dynamic_update_slice_in_dim(buffer, part, at, axis=0)
                for buffer, part in zip(buffers, made, strict=True)
            )
            return at + tile.rows, written

        def worthwhile(tile: Tile, carry: tuple[Array, tuple[Array, ...]]) -> Array:
            return ends[index] - carry[0] >= tile.least

        carry = (ends[index] - sizes[index], buffers)
        for tile in tiles.ladder:
            carry = jax.lax.while_loop(functools.partial(worthwhile, tile), functools.partial(take, tile), carry)
        return carry[1]

    widths = [down_weights.shape[2], *(own.shape[2] for own in up_weights if keep)]
    sums = sum_dtype(tiles.dtype)
    buffers = tuple(varying_as(jnp.zeros((tiles.padded, width), sums), tiles.x, down_weights) for width in widths)
    out, *kept = jax.lax.fori_loop(0, down_weights.shape[0], one_group, buffers)
    return out, tuple(kept)
