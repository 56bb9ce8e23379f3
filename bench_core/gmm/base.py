"""The protocol of a grouped-matmul backend, what it promises about its rounding, and the plain matmul of one group."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import jax
import jax.numpy as jnp

from bench_core.arrays import Array, Float, Int32, Sums
from bench_core.quant import sum_dtype
from bench_core.shapes import DType


@dataclass(frozen=True, slots=True, kw_only=True)
class Arithmetic:
    """Unit roundoffs (largest relative error of one rounding to nearest) and counts of roundings.

    A sum of n products is off by at most gamma(n) = n u / (1 - n u) times the sum of magnitudes, in any
    order of summation (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1).
    """

    accumulate_roundoff: float
    """Roundoff u of the accumulator and of elementwise work between matmuls."""
    division_roundings: int
    """A division may be compiled to a reciprocal and a product."""
    sigmoid_roundings: int
    """Error of the logistic function in units of u: exp of a few ulp, an addition, a division."""

    def gamma(self, terms: int) -> float:
        """Relative error bound of a sum of `terms` products."""
        product = terms * self.accumulate_roundoff
        return product / (1.0 - product)


FLOAT32_ACCUMULATION = Arithmetic(accumulate_roundoff=2.0**-24, division_roundings=3, sigmoid_roundings=16)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatmulRequest:
    """What a case needs of its backend. `platform` is JAX's name: cpu, gpu, tpu. `partitioned`: XLA's partitioner cuts
    the program for several devices."""

    platform: str
    dtype: DType
    partitioned: bool = False


UNCUT = "XLA's partitioner cannot cut a Pallas kernel for several devices; use --dp-impl shard_map"


def kernel_refusal(request: MatmulRequest, *, interpret: bool, platform: str, needs: str) -> str | None:
    """Why a Pallas kernel for this platform cannot serve `request`; one that is interpreted is plain operations."""
    if request.dtype is DType.FLOAT64:
        return "its kernel sums in float32"
    if request.partitioned and not interpret:
        return UNCUT
    if request.platform in ("cpu", platform):
        return None
    # A plural for what is no name.
    kind = {"gpu": "GPUs", "tpu": "TPU"}[platform]
    return (
        f"it is a kernel for {kind} and does not compile for {request.platform}; it needs {needs} and "
        f"logbook-agent[{platform}], or JAX_PLATFORMS=cpu to run in interpret mode"
    )


# What the products of `GroupedMatmul` take; results are sums.
Rows = Float[Array, "m k"]
Cotangent = Float[Array, "m n"]
Matrices = Float[Array, "g k n"]
Sizes = Int32[Array, " g"]


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
    def forward(self, lhs: Rows, rhs: Matrices, group_sizes: Sizes) -> Sums[Array, "m n"]:
        """out[i] = lhs[i] @ rhs[group of i]."""

    @abstractmethod
    def grad_lhs(self, cotangent: Cotangent, rhs: Matrices, group_sizes: Sizes) -> Sums[Array, "m k"]:
        """out[i] = cotangent[i] @ rhs[group of i].T."""

    @abstractmethod
    def grad_rhs(self, lhs: Rows, cotangent: Cotangent, group_sizes: Sizes) -> Sums[Array, "g k n"]:
        """out[g] = lhs[rows of g].T @ cotangent[rows of g]; zeros for an empty group."""


def matmul_precision(operand: Float[Array, "..."]) -> jax.lax.Precision:
    """DEFAULT for bfloat16 operands, HIGHEST otherwise.

    The default multiplies float32 operands as bfloat16 on TPU and as TF32 on recent GPUs, which is neither
    what `--dtype float32` says nor within its tolerance.
    """
    return jax.lax.Precision.DEFAULT if operand.dtype == jnp.bfloat16 else jax.lax.Precision.HIGHEST


def product(lhs: Float[Array, "..."], rhs: Float[Array, "..."], axes: tuple[int, int]) -> Sums[Array, "..."]:
    """lhs contracted with rhs over one axis of each."""
    lhs_axis, rhs_axis = axes
    return jax.lax.dot_general(
        lhs,
        rhs,
        (((lhs_axis,), (rhs_axis,)), ((), ())),
        precision=matmul_precision(lhs),
        preferred_element_type=sum_dtype(lhs.dtype),
    )


@final
class DenseMatmul(GroupedMatmul):
    """Serves exactly one group that owns every row. Not in the registry: no routed case has that shape."""

    name: ClassVar[str] = "dense"
    summary: ClassVar[str] = "jax.lax.dot_general over one group"
    arithmetic: ClassVar[Arithmetic] = FLOAT32_ACCUMULATION

    def refusal(self, request: MatmulRequest) -> str | None:
        return "serves one group only; it computes the shared expert"

    def forward(self, lhs: Rows, rhs: Matrices, group_sizes: Sizes) -> Sums[Array, "m n"]:
        return product(lhs, rhs[0], (1, 0))

    def grad_lhs(self, cotangent: Cotangent, rhs: Matrices, group_sizes: Sizes) -> Sums[Array, "m k"]:
        return product(cotangent, rhs[0], (1, 1))

    def grad_rhs(self, lhs: Rows, cotangent: Cotangent, group_sizes: Sizes) -> Sums[Array, "g k n"]:
        return product(lhs, cotangent, (0, 0))[None]
