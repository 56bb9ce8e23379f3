"""The protocol of a grouped-matmul backend, and the precision of its products."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from bench_core.arrays import Array, Float, Int32, Sums
from bench_core.gmm.arithmetic import Arithmetic
from bench_core.shapes import BenchPass, DType


@dataclass(frozen=True, slots=True, kw_only=True)
class MatmulRequest:
    """What a case needs of its backend. `platform` is JAX's name: cpu, gpu, tpu. `partitioned`: XLA's partitioner cuts
    the program for several devices."""

    platform: str
    dtype: DType
    bench_pass: BenchPass
    partitioned: bool = False


UNCUT = "XLA's partitioner cannot cut a Pallas kernel for several devices; use --dp-impl shard_map"
"""Why a Pallas kernel cannot serve a request that is partitioned."""


class GroupedMatmul(ABC):
    """Multiply consecutive groups of rows, each by its own matrix.

    The rows of `lhs` [m, k] are sorted by group; group g owns `group_sizes[g]` of them (zero is legal) and
    the sizes sum to m. Operands share one dtype; results and accumulation are of `sum_dtype`. A backend
    states the three products that training needs; it defines no gradients of its own.

    Instances are stateless and hashable: they are static arguments of compiled functions.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    arithmetic: ClassVar[Arithmetic]

    def ran(self) -> str:
        """What a row says about the code that computed it."""
        return self.summary

    @abstractmethod
    def refusal(self, request: MatmulRequest) -> str | None:
        """Why this backend cannot serve `request`; None when it can."""

    def rows_refusal(self, rows: int) -> str | None:
        """Why this backend cannot serve so many rows; None when it can."""
        return None

    @abstractmethod
    def forward(
        self, lhs: Float[Array, "m k"], rhs: Float[Array, "g k n"], group_sizes: Int32[Array, " g"]
    ) -> Sums[Array, "m n"]:
        """out[i] = lhs[i] @ rhs[group of i]."""

    @abstractmethod
    def grad_lhs(
        self, cotangent: Float[Array, "m n"], rhs: Float[Array, "g k n"], group_sizes: Int32[Array, " g"]
    ) -> Sums[Array, "m k"]:
        """out[i] = cotangent[i] @ rhs[group of i].T."""

    @abstractmethod
    def grad_rhs(
        self, lhs: Float[Array, "m k"], cotangent: Float[Array, "m n"], group_sizes: Int32[Array, " g"]
    ) -> Sums[Array, "g k n"]:
        """out[g] = lhs[rows of g].T @ cotangent[rows of g]; zeros for an empty group."""


def matmul_precision(operand: Float[Array, "..."]) -> jax.lax.Precision:
    """DEFAULT for bfloat16 operands, HIGHEST otherwise.

    The default multiplies float32 operands as bfloat16 on TPU and as TF32 on recent GPUs, which is neither
    what `--dtype float32` says nor within its tolerance.
    """
    return jax.lax.Precision.DEFAULT if operand.dtype == jnp.bfloat16 else jax.lax.Precision.HIGHEST
