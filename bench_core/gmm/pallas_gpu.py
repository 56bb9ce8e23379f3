"""The grouped matmul for GPUs: Pallas kernels of this project, which JAX compiles through Triton."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, final

import jax.numpy as jnp
from jaxtyping import Array, Float, Float32, Int32

from bench_core.gmm.arithmetic import FLOAT32_ACCUMULATION, Arithmetic
from bench_core.gmm.base import UNCUT, GroupedMatmul, MatmulRequest
from bench_core.gmm.gated import GatedExperts, GatedGradients, GatedInputs
from bench_core.gmm.pallas_gpu_gated import GatedKernels
from bench_core.gmm.pallas_gpu_kernels import groups_product, rows_product
from bench_core.gmm.pallas_gpu_tiles import Blocks
from bench_core.shapes import DType

DEFAULT_BLOCKS: Mapping[DType, Blocks] = MappingProxyType(
    {
        # Tensor cores: 128 registers of sums for each thread, and 48 KiB of operands for each stage.
        DType.BFLOAT16: Blocks(m=128, n=256, k=64, warps=8, stages=4),
        # Full precision has no tensor cores: a tile is as large as its sums find registers.
        DType.FLOAT32: Blocks(m=64, n=64, k=32, warps=4, stages=2),
    }
)
"""They fit the registers and the shared memory of compute capability 9.0. Not measured on a GPU yet."""


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

    def _kernels(self, inputs: GatedInputs) -> GatedKernels:
        return GatedKernels(inputs=inputs, blocks=self._blocks(inputs.x), interpret=self.interpret)

    def _blocks(self, operand: Float[Array, "..."]) -> Blocks:
        return self.blocks or DEFAULT_BLOCKS[DType(operand.dtype.name)]
