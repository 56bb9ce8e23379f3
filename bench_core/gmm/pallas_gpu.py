"""The grouped matmul for GPUs: Pallas kernels of this project, which JAX compiles through Triton."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, final

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from bench_core.arrays import Array, Float, Float32, Int32
from bench_core.gmm.base import FLOAT32_ACCUMULATION, UNCUT, Arithmetic, GroupedMatmul, MatmulRequest, matmul_precision
from bench_core.gmm.gated import GatedExperts, GatedGradients, GatedInputs, activation_gradients, gate_and_up
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
    ordered,
    store,
)
from bench_core.quant import round_to
from bench_core.shapes import DType

DEFAULT_BLOCKS: Mapping[DType, Blocks] = MappingProxyType(
    {
        # Tensor cores: 128 registers of sums for each thread, and 48 KiB of operands for each stage.
        DType.BFLOAT16: Blocks(m=128, n=256, k=64, warps=8, stages=4),
        # Full precision has no tensor cores: a tile is as large as its sums find registers.
        DType.FLOAT32: Blocks(m=64, n=64, k=32, warps=4, stages=2),
    }
)
"""They fit the registers and the shared memory of compute capability 9.0."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PallasGpu(GroupedMatmul, GatedExperts):
    """Every tile of the result has rows of one group alone, so a group costs at most one tile's rows more than it has.

    Sums are float32, float32 operands are multiplied in full precision. What is over the sizes of a product is masked.
    `interpret` runs the same kernels on a CPU as plain XLA operations, tile after tile, where they say that the result
    is right and nothing about time.
    """

    name: ClassVar[str] = "pallas_gpu"
    summary: ClassVar[str] = "Pallas kernels for GPUs, through Triton"
    arithmetic: ClassVar[Arithmetic] = FLOAT32_ACCUMULATION

    interpret: bool
    blocks: Blocks | None = None
    """None: those of the dtype."""

    def refusal(self, request: MatmulRequest) -> str | None:
        if request.dtype is DType.FLOAT64:
            return "its kernel sums in float32"
        if request.partitioned and not self.interpret:
            return UNCUT
        if request.platform in ("cpu", "gpu"):
            return None
        return (
            f"it is a kernel for GPUs and does not compile for {request.platform}; "
            "it needs an NVIDIA GPU and logbook-agent[gpu], or JAX_PLATFORMS=cpu to run in interpret mode"
        )

    def ran(self) -> str:
        return f"{self.summary}, in interpret mode on CPU: correctness only" if self.interpret else self.summary

    def forward(
        self, lhs: Float[Array, "m k"], rhs: Float[Array, "g k n"], group_sizes: Int32[Array, " g"]
    ) -> Float32[Array, "m n"]:
        return rows_product(
            [(lhs, rhs)], group_sizes, transposed=False, blocks=self._blocks(lhs), interpret=self.interpret
        )

    def grad_lhs(
        self, cotangent: Float[Array, "m n"], rhs: Float[Array, "g k n"], group_sizes: Int32[Array, " g"]
    ) -> Float32[Array, "m k"]:
        blocks = self._blocks(cotangent)
        return rows_product([(cotangent, rhs)], group_sizes, transposed=True, blocks=blocks, interpret=self.interpret)

    def grad_rhs(
        self, lhs: Float[Array, "m k"], cotangent: Float[Array, "m n"], group_sizes: Int32[Array, " g"]
    ) -> Float32[Array, "g k n"]:
        return groups_product(
            lhs, cotangent, group_sizes, dtype=jnp.float32, blocks=self._blocks(lhs), interpret=self.interpret
        )

    def gated_forward(
        self, inputs: GatedInputs, *, keep: bool
    ) -> tuple[Float32[Array, "padded hidden"], tuple[Float32[Array, "padded _"], ...]]:
        return self._kernels(inputs).forward(keep=keep)

    def gated_backward(
        self,
        inputs: GatedInputs,
        kept: tuple[Float32[Array, "padded _"], ...],
        cotangent: Float32[Array, "tokens hidden"],
    ) -> GatedGradients:
        return self._kernels(inputs).backward(kept, cotangent)

    def _kernels(self, inputs: GatedInputs) -> "_GatedKernels":
        return _GatedKernels(inputs=inputs, blocks=self._blocks(inputs.x), interpret=self.interpret)

    def _blocks(self, operand: Float[Array, "..."]) -> Blocks:
        return self.blocks or DEFAULT_BLOCKS[DType(operand.dtype.name)]


def rows_product(
    pairs: Sequence[tuple[Float[Array, "m _"], Float[Array, "g _ _"]]],
    group_sizes: Int32[Array, " g"],
    *,
    transposed: bool,
    dtype: Any = jnp.float32,
    blocks: Blocks,
    interpret: bool,
) -> Float[Array, "m n"]:
    """out[i] = sum over the pairs of lhs[i] @ rhs[group of i], or of rhs[group of i].T; zero past the groups' rows.

    Sums are float32; the result is rounded to `dtype`.
    """
    rows = pairs[0][0].shape[0]
    width = pairs[0][1].shape[1 if transposed else 2]
    if rows == 0:
        return jnp.zeros((0, width), dtype)
    grid = RowsGrid.of(rows, width, max(lhs.shape[1] for lhs, _ in pairs), group_sizes, blocks)

    def kernel(group_ref: Ref, start_ref: Ref, end_ref: Ref, *refs: Ref) -> None:
        *operands, out = refs
        place = grid.place(group_ref, start_ref, end_ref)
        sums: tuple[Array, ...] = (grid.zeros(),)
        for lhs, rhs in zip(operands[::2], operands[1::2], strict=True):

            def products(inner: Part, sums: tuple[Array, ...], lhs: Ref = lhs, rhs: Ref = rhs) -> tuple[Array, ...]:
                left = load(lhs, place.rows, inner)
                sides = (place.columns, inner) if transposed else (inner, place.columns)
                return (sums[0] + multiplied(left, load(rhs, *sides, at=place.group), transposed=transposed),)

            sums = grid.summed(place, lhs.shape[1], products, sums)
        store(out, sums[0], place.rows, place.columns)

    operands = [*grid.tiles, *(operand for pair in pairs for operand in pair)]
    (out,) = launch(
        kernel, operands, [((rows, width), dtype)], programs=grid.shape, blocks=grid.blocks, interpret=interpret
    )
    return out


def groups_product(
    lhs: Float[Array, "m k"],
    cotangent: Float[Array, "m n"],
    group_sizes: Int32[Array, " g"],
    *,
    dtype: Any,
    blocks: Blocks,
    interpret: bool,
) -> Float[Array, "g k n"]:
    """out[g] = lhs[rows of g].T @ cotangent[rows of g], summed in float32, rounded to `dtype`; zeros for an empty
    group.

    `blocks.m` and `blocks.n` are rows and columns of a matrix of the result, `blocks.k` rows that are summed at a time.
    """
    (rows, height), width, groups = lhs.shape, cotangent.shape[1], group_sizes.shape[0]
    if rows == 0:
        return jnp.zeros((groups, height, width), dtype)
    own = blocks.within(m=height, n=width, k=rows)
    ends = jnp.cumsum(group_sizes, dtype=jnp.int32)
    per_group = (pl.cdiv(height, own.m), pl.cdiv(width, own.n))

    def kernel(start_ref: Ref, end_ref: Ref, lhs_ref: Ref, cotangent_ref: Ref, out: Ref) -> None:
        tiles = jnp.int32(per_group[0] * per_group[1])
        group = jax.lax.div(pl.program_id(0), tiles)
        first, second = ordered(jax.lax.rem(pl.program_id(0), tiles), *per_group)
        down, across = Part.number(first, own.m, height), Part.number(second, own.n, width)
        start, end = start_ref[group], end_ref[group]

        def step(number: Array, total: Array) -> Array:
            # Both operands have zeros in the place of other groups' rows: zero times an infinity is not zero.
            part = Part(start=start + number * own.k, size=own.k, end=end)
            left, right = load(lhs_ref, part, down), load(cotangent_ref, part, across)
            product: Array = triton.dot(left, right, trans_a=True, precision=matmul_precision(left))
            return total + product

        steps = jax.lax.div(end - start + (own.k - 1), jnp.int32(own.k))
        total = jax.lax.fori_loop(0, steps, step, jnp.zeros((own.m, own.n), jnp.float32))
        store(out, total, down, across, at=group)

    (out,) = launch(
        kernel,
        [ends - group_sizes, ends, lhs, cotangent],
        [((groups, height, width), dtype)],
        programs=(groups, *per_group),
        blocks=own,
        interpret=interpret,
    )
    return out


@dataclass(frozen=True, slots=True, kw_only=True)
class _GatedKernels:
    """The two passes over the experts, with tiles of one size in all their products."""

    inputs: GatedInputs
    blocks: Blocks
    interpret: bool

    def forward(self, *, keep: bool) -> tuple[Float32[Array, "rows hidden"], tuple[Float32[Array, "rows _"], ...]]:
        """See `GatedExperts.gated_forward`."""
        hidden, kept = self._activated(keep=keep)
        return self._of_rows([(hidden, self.inputs.down_weights)], transposed=False), kept

    def backward(
        self, kept: tuple[Float32[Array, "rows _"], ...], cotangent: Float32[Array, "tokens hidden"]
    ) -> GatedGradients:
        """See `GatedExperts.gated_backward`."""
        x, rows = self.inputs.x, self.inputs.rows
        upstream = round_to(cotangent[rows.token] * rows.weight[:, None], x.dtype)
        hidden, grads = self._activation_gradients(upstream, kept)
        # Read by a kernel again and again, unlike in the forward pass: sorted once.
        left = x[rows.token]
        return GatedGradients(
            rows=self._of_rows(list(zip(grads, self.inputs.up_weights, strict=True)), transposed=True),
            up_weights=tuple(self._of_groups(left, grad) for grad in grads),
            down_weights=self._of_groups(hidden, upstream),
        )

    def _activated(self, *, keep: bool) -> tuple[Float[Array, "rows mlp"], tuple[Float32[Array, "rows _"], ...]]:
        """silu(x @ w1) * (x @ w3) of every row in x's dtype, and if `keep` says so what came of the two products.

        Rows of x are read where they are.
        """
        x, up_weights, rows = self.inputs.x, self.inputs.up_weights, self.inputs.rows
        count, inner, width = rows.token.shape[0], x.shape[1], self.inputs.down_weights.shape[1]
        # Two sums in the registers of one.
        blocks = replace(self.blocks, n=max(SMALLEST, self.blocks.n // 2))
        grid = RowsGrid.of(count, width, inner, rows.group_sizes, blocks)

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
            [*grid.tiles, rows.token, x, *up_weights],
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

    def _of_rows(
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

    def _of_groups(self, lhs: Float[Array, "rows k"], cotangent: Float[Array, "rows n"]) -> Float[Array, "g k n"]:
        sizes = self.inputs.rows.group_sizes
        return groups_product(lhs, cotangent, sizes, dtype=lhs.dtype, blocks=self.blocks, interpret=self.interpret)


def _halves(refs: tuple[Ref, ...] | list[Ref], columns: Part, width: int) -> list[tuple[Ref, Part]]:
    """Where gate and up have these columns: in an array each, or side by side in one that is twice as wide."""
    if len(refs) == 1:
        return [(refs[0], columns), (refs[0], columns.shifted(width))]
    return [(ref, columns) for ref in refs]
