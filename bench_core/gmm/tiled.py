"""The grouped matmul for CPUs: small dense matmuls over the rows that each group really has.

The gated experts are one loop over experts and, inside, over static row tiles. Within a tile all products of its rows
follow one another while the rows are in cache: the rows of x and of the upstream gradient are gathered there, so that
sorted copies of them exist only as tiles. Buffers of sorted rows have one largest tile to spare: what a tile writes
beyond its expert's rows, the experts that follow overwrite.
"""

import functools
import itertools
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import jax
import jax.numpy as jnp

from bench_core.arrays import Array, Bool, Float, Int32, Shaped, Sums
from bench_core.device import host_cpu
from bench_core.gmm.arithmetic import FLOAT32_ACCUMULATION, Arithmetic
from bench_core.gmm.base import GroupedMatmul, MatmulRequest
from bench_core.gmm.gated import GatedExperts, GatedGradients, GatedInputs, activation_gradients, gate_and_up
from bench_core.gmm.tile import RowSizes, Rung, ladder
from bench_core.gmm.tiled_loops import Operands, groups_product, rows_product
from bench_core.gmm.varying import varying_as
from bench_core.quant.sums import round_to, sum_dtype


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Tiled(GroupedMatmul, GatedExperts):
    """Equals `jax.lax.ragged_dot_general`, at a cost that does not grow with the number of groups.

    Rows that a mask sets to zero add exact zeros, so the error bound is that of the group's own terms. `row_tiles`: see
    `tile.ladder`. `narrow`: bfloat16 is multiplied as such, where the processor has instructions for it; else as
    float32, whose products and sums are the same.
    """

    name: ClassVar[str] = "tiled"
    summary: ClassVar[str] = "dense matmuls over row tiles of each group, in pure JAX; for CPU"
    arithmetic: ClassVar[Arithmetic] = FLOAT32_ACCUMULATION
    skips_rows: ClassVar[bool] = True

    row_tiles: RowSizes | None = None
    narrow: bool = field(default_factory=lambda: host_cpu().bfloat16)

    def ran(self) -> str:
        return self.summary if self.row_tiles is None else f"{self.summary}; tiles of {self.row_tiles} rows"

    def refusal(self, request: MatmulRequest) -> str | None:
        if request.platform == "cpu":
            return None
        return f"it runs one small matmul after another, which is made for CPU and untested on {request.platform}"

    def forward(
        self, lhs: Float[Array, "m k"], rhs: Float[Array, "g k n"], group_sizes: Int32[Array, " g"]
    ) -> Sums[Array, "m n"]:
        return rows_product(lhs, rhs, group_sizes, rhs_axis=0, narrow=self.narrow, row_tiles=self.row_tiles)

    def grad_lhs(
        self, cotangent: Float[Array, "m n"], rhs: Float[Array, "g k n"], group_sizes: Int32[Array, " g"]
    ) -> Sums[Array, "m k"]:
        return rows_product(cotangent, rhs, group_sizes, rhs_axis=1, narrow=self.narrow, row_tiles=self.row_tiles)

    def grad_rhs(
        self, lhs: Float[Array, "m k"], cotangent: Float[Array, "m n"], group_sizes: Int32[Array, " g"]
    ) -> Sums[Array, "g k n"]:
        return groups_product(lhs, cotangent, group_sizes, narrow=self.narrow, row_tiles=self.row_tiles)

    def gated_forward(
        self, inputs: GatedInputs, *, keep: bool
    ) -> tuple[Sums[Array, "padded hidden"], tuple[Sums[Array, "padded _"], ...]]:
        return _rows(inputs, self._tiles(inputs), keep=keep)

    def gated_backward(
        self, inputs: GatedInputs, kept: tuple[Sums[Array, "padded _"], ...], cotangent: Sums[Array, "tokens hidden"]
    ) -> GatedGradients:
        return _gradients(inputs, self._tiles(inputs), kept, cotangent)

    def _tiles(self, inputs: GatedInputs) -> "_RowTiles":
        rows, operands = inputs.rows, Operands(dtype=inputs.x.dtype, narrow=self.narrow)
        tiles = ladder(rows.token.shape[0], rows.group_sizes.shape[0], close=True, row_tiles=self.row_tiles)
        token, weight = (jnp.pad(own, (0, tiles[0].rows)) for own in (rows.token, rows.weight))
        return _RowTiles(operands=operands, x=operands.carried(inputs.x), token=token, weight=weight, ladder=tiles)


@dataclass(frozen=True, slots=True, kw_only=True)
class _RowTiles:
    """Tiles of the rows of `x`, as `operands` carries it. `token` and `weight` are as in `ExpertRows`, with one largest
    tile to spare."""

    operands: Operands
    x: Shaped[Array, "tokens hidden"]
    token: Int32[Array, " padded"]
    weight: Sums[Array, " padded"]
    ladder: tuple[Rung, ...]

    @property
    def sums(self) -> jnp.dtype:
        return sum_dtype(self.operands.dtype)

    def buffer(self, width: int) -> Sums[Array, "padded width"]:
        return jnp.zeros((self.token.shape[0], width), self.sums)

    def tokens(self, at: Int32[Array, ""], size: int) -> Int32[Array, " tile"]:
        return jax.lax.dynamic_slice_in_dim(self.token, at, size)

    def weights(self, at: Int32[Array, ""], size: int) -> Sums[Array, "tile 1"]:
        return jax.lax.dynamic_slice_in_dim(self.weight, at, size)[:, None].astype(self.sums)

    def own_rows(self, token: Int32[Array, " tile"]) -> Shaped[Array, "tile hidden"]:
        return self.x.at[token].get(mode="promise_in_bounds")


def _written(buffer: Shaped[Array, "padded _"], part: Shaped[Array, "tile _"], at: Int32[Array, ""]) -> Array:
    return jax.lax.dynamic_update_slice_in_dim(buffer, part, at, axis=0)


def _rows(
    inputs: GatedInputs, tiles: _RowTiles, *, keep: bool
) -> tuple[Sums[Array, "padded hidden"], tuple[Sums[Array, "padded _"], ...]]:
    """See `GatedExperts.gated_forward`."""
    up_weights, down_weights, sizes = inputs.up_weights, inputs.down_weights, inputs.rows.group_sizes
    ends, operands = jnp.cumsum(sizes), tiles.operands

    def one_group(index: Array, buffers: tuple[Array, ...]) -> tuple[Array, ...]:
        *ups, down = (operands.matrix(own, index) for own in (*up_weights, down_weights))

        def take(tile: Rung, carry: tuple[Array, tuple[Array, ...]]) -> tuple[Array, tuple[Array, ...]]:
            at, buffers = carry
            own = operands.multiplied(tiles.own_rows(tiles.tokens(at, tile.rows)))
            projected = tuple(operands.dot(own, matrix, (1, 0)) for matrix in ups)
            gate, up = gate_and_up(projected)
            hidden = jax.nn.silu(gate) * up
            result = operands.dot(operands.rounded(hidden), down, (1, 0))
            made = (result, *projected) if keep else (result,)
            return at + tile.rows, tuple(_written(*own, at) for own in zip(buffers, made, strict=True))

        def worthwhile(tile: Rung, carry: tuple[Array, tuple[Array, ...]]) -> Array:
            return ends[index] - carry[0] >= tile.least

        carry = (ends[index] - sizes[index], buffers)
        for tile in tiles.ladder:
            carry = jax.lax.while_loop(functools.partial(worthwhile, tile), functools.partial(take, tile), carry)
        return carry[1]

    widths = [down_weights.shape[2], *(own.shape[2] for own in up_weights if keep)]
    buffers = tuple(varying_as(tiles.buffer(width), tiles.x, down_weights) for width in widths)
    out, *kept = jax.lax.fori_loop(0, down_weights.shape[0], one_group, buffers)
    return out, tuple(kept)


_Carry = tuple[Array, Array, tuple[Array, ...]]
"""The next row that is to be computed, int32 []; the gradient rows so far; the expert's weight gradients so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _ExpertBackward:
    """The backward pass of one expert: its rows [start, end), its matrices, and what all experts share."""

    tiles: _RowTiles
    kept: tuple[Sums[Array, "padded _"], ...]
    cotangent: Sums[Array, "tokens hidden"]
    ups: tuple[Float[Array, "hidden _"], ...]
    down: Float[Array, "mlp hidden"]
    start: Int32[Array, ""]
    end: Int32[Array, ""]

    def gradients(self, size: int, at: Int32[Array, ""]) -> tuple[Array, tuple[Array, ...]]:
        """What the rows [at, at + size) add to the gradient of x and to the weight gradients (up, then down), as sums.

        Rows of other experts are zeros in every operand: zero times the infinity of such a row is not zero.
        """
        own: Bool[Array, "tile 1"] = (at + jnp.arange(size, dtype=jnp.int32) < self.end)[:, None]
        token, weight = self.tiles.tokens(at, size), self.tiles.weights(at, size)
        operands = self.tiles.operands
        left = self.tiles.own_rows(token)
        left = operands.multiplied(jnp.where(own, left, jnp.zeros((), left.dtype)))
        upstream = self.cotangent.at[token].get(mode="promise_in_bounds")
        upstream = operands.rounded(jnp.where(own, upstream * weight, 0.0))
        gate, up = (
            jnp.where(own, part, 0.0)
            for part in gate_and_up([jax.lax.dynamic_slice_in_dim(part, at, size) for part in self.kept])
        )
        # Rounded as the gradient of every matmul operand is.
        grad_hidden = round_to(operands.dot(upstream, self.down, (1, 1)), operands.dtype).astype(self.tiles.sums)
        hidden, *parts = activation_gradients(gate, up, grad_hidden)
        grads = [operands.rounded(part) for part in parts]
        if len(self.ups) == 1:
            grads = [jnp.concatenate(grads, axis=-1)]
        grad_rows = functools.reduce(
            jnp.add, [operands.dot(part, matrix, (1, 1)) for part, matrix in zip(grads, self.ups, strict=True)]
        )
        down = operands.rows_dot(operands.rounded(hidden), upstream)
        return grad_rows, (*(operands.rows_dot(left, part) for part in grads), down)

    def first_tile(self, tile: Rung, above: Rung, carry: _Carry) -> _Carry:
        """Make the weight gradients with a tile, where the expert's rows call for `tile` and not for `above`.

        Most experts have one tile when there are many experts. Then nothing is added to an array in memory.
        """

        def make(carry: _Carry) -> _Carry:
            at, buffer, _ = carry
            grad_rows, gradients = self.gradients(tile.rows, at)
            return at + tile.rows, _written(buffer, grad_rows, at), gradients

        size = self.end - self.start
        wanted = (size >= tile.least) & (size < above.least)
        # Not a conditional: the compiler would copy all gradient rows into and out of it.
        made: _Carry = jax.lax.while_loop(lambda carry: wanted & (carry[0] == self.start), make, carry)
        return made

    def further_tiles(self, tile: Rung, carry: _Carry) -> _Carry:
        """Add the gradients of `tile`s as long as one is worth it. At the first row, what is there is not ours."""

        def add(carry: _Carry) -> _Carry:
            at, buffer, so_far = carry
            grad_rows, gradients = self.gradients(tile.rows, at)
            sums = tuple(
                jnp.where(at == self.start, 0.0, before) + gradient
                for before, gradient in zip(so_far, gradients, strict=True)
            )
            return at + tile.rows, _written(buffer, grad_rows, at), sums

        added: _Carry = jax.lax.while_loop(lambda carry: self.end - carry[0] >= tile.least, add, carry)
        return added


def _gradients(
    inputs: GatedInputs,
    tiles: _RowTiles,
    kept: tuple[Sums[Array, "padded _"], ...],
    cotangent: Sums[Array, "tokens hidden"],
) -> GatedGradients:
    """See `GatedExperts.gated_backward`."""
    x, sizes, operands = tiles.x, inputs.rows.group_sizes, tiles.operands
    ends = jnp.cumsum(sizes)
    weights = (*inputs.up_weights, inputs.down_weights)

    def one_group(index: Array, carry: tuple[Array, tuple[Array, ...], tuple[Array, ...]]) -> tuple[Any, ...]:
        buffer, so_far, results = carry
        *ups, down = (operands.matrix(own, index) for own in weights)
        own = _ExpertBackward(
            tiles=tiles,
            kept=kept,
            cotangent=cotangent,
            ups=tuple(ups),
            down=down,
            start=ends[index] - sizes[index],
            end=ends[index],
        )
        state = (own.start, buffer, so_far)
        for above, tile in itertools.pairwise(tiles.ladder[:-1]):
            state = own.first_tile(tile, above, state)
        for tile in tiles.ladder:
            state = own.further_tiles(tile, state)
        _, buffer, so_far = state
        done = (round_to(jnp.where(own.end > own.start, sums, 0.0), operands.dtype) for sums in so_far)
        results = tuple(
            jax.lax.dynamic_update_index_in_dim(result, operands.carried(gradient), index, axis=0)
            for result, gradient in zip(results, done, strict=True)
        )
        return buffer, so_far, results

    carry = jax.tree.map(
        lambda zeros: varying_as(zeros, x, *weights),
        (
            tiles.buffer(x.shape[1]),
            tuple(jnp.zeros(own.shape[1:], tiles.sums) for own in weights),
            tuple(jnp.zeros_like(operands.carried(own)) for own in weights),
        ),
    )
    buffer, _, results = jax.lax.fori_loop(0, sizes.shape[0], one_group, carry)
    *ups, down = (operands.valued(result) for result in results)
    return GatedGradients(rows=buffer, up_weights=tuple(ups), down_weights=down)
