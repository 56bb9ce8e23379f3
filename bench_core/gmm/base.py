"""The protocol of a grouped-matmul backend."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Array, Float, Float32, Int32

from bench_core.gmm.arithmetic import Arithmetic
from bench_core.shapes import BenchPass, DType


@dataclass(frozen=True, slots=True, kw_only=True)
class MatmulRequest:
    """What a case needs of its backend. `platform` is JAX's name: cpu, gpu, tpu."""

    platform: str
    dtype: DType
    bench_pass: BenchPass


class GroupedMatmul(ABC):
    """Multiply consecutive groups of rows, each by its own matrix.

    The rows of `lhs` [m, k] are sorted by group; group g owns `group_sizes[g]` of them (zero is legal) and
    the sizes sum to m. Operands share one dtype, results are float32, with float32 accumulation. A backend
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

    @abstractmethod
    def forward(
        self, lhs: Float[Array, "m k"], rhs: Float[Array, "g k n"], group_sizes: Int32[Array, " g"]
    ) -> Float32[Array, "m n"]:
        """out[i] = lhs[i] @ rhs[group of i]."""

    @abstractmethod
    def grad_lhs(
        self, cotangent: Float[Array, "m n"], rhs: Float[Array, "g k n"], group_sizes: Int32[Array, " g"]
    ) -> Float32[Array, "m k"]:
        """out[i] = cotangent[i] @ rhs[group of i].T."""

    @abstractmethod
    def grad_rhs(
        self, lhs: Float[Array, "m k"], cotangent: Float[Array, "m n"], group_sizes: Int32[Array, " g"]
    ) -> Float32[Array, "g k n"]:
        """out[g] = lhs[rows of g].T @ cotangent[rows of g]; zeros for an empty group."""
