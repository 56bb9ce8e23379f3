"""What every grouped-matmul backend must do, against float64; a test module names the backend."""

import functools
from collections.abc import Callable
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bench_core.blocks.bounded import Bounded, BoundedMath
from bench_core.gmm.base import GroupedMatmul
from bench_core.harness.check import compare
from bench_core.shapes import TIMED_DTYPES, DType

ROWS, GROUPS, INNER, OUTER = 700, 6, 11, 7
"""More rows than the largest tile, sizes that are multiples of nothing."""

SIZES = {
    "balanced": (117, 117, 117, 117, 116, 116),
    "first_owns_all": (700, 0, 0, 0, 0, 0),
    "last_owns_all": (0, 0, 0, 0, 0, 700),
    "empty_between": (0, 350, 0, 0, 350, 0),
    "whole_tiles": (512, 128, 32, 0, 28, 0),
    "one_row_each": (1, 1, 1, 1, 1, 695),
    "one_row_each_at_the_end": (695, 1, 1, 1, 1, 1),
    "one_past_a_tile": (33, 129, 513, 1, 1, 23),
    "one_short_of_a_tile": (31, 127, 511, 0, 0, 31),
}

Operands = tuple[np.ndarray, np.ndarray, np.ndarray]
"""lhs [m, k], rhs [g, k, n], cotangent [m, n]."""


@functools.cache
def operands(rows: int, dtype: DType) -> Operands:
    return drawn(3, ((rows, INNER), (GROUPS, INNER, OUTER), (rows, OUTER)), dtype)


def drawn(seed: int, shapes: tuple[tuple[int, ...], ...], dtype: DType) -> Operands:
    rng = np.random.default_rng(seed)
    lhs, rhs, cotangent = (np.asarray(jnp.asarray(rng.normal(size=shape), dtype.value)) for shape in shapes)
    return lhs, rhs, cotangent


@functools.cache
def _compiled(backend: GroupedMatmul) -> dict[str, Callable[..., jax.Array]]:
    names = ("forward", "grad_lhs", "grad_rhs")
    return {name: jax.jit(getattr(backend, name)) for name in names}


def computed(backend: GroupedMatmul, operands: Operands, sizes: tuple[int, ...]) -> dict[str, np.ndarray]:
    lhs, rhs, cotangent = operands
    group_sizes = jnp.array(sizes, jnp.int32)
    arguments = {"forward": (lhs, rhs), "grad_lhs": (cotangent, rhs), "grad_rhs": (lhs, cotangent)}
    products = _compiled(backend)
    return {name: np.asarray(products[name](*pair, group_sizes)) for name, pair in arguments.items()}


def expected(backend: GroupedMatmul, operands: Operands, sizes: tuple[int, ...]) -> dict[str, Bounded]:
    """One float64 matmul per group, with the bound that the backend's arithmetic declares."""
    math = BoundedMath(arithmetic=backend.arithmetic, dtype=DType.FLOAT32)
    lhs, rhs, cotangent = (Bounded.exact(operand) for operand in operands)
    parts: dict[str, list[Bounded]] = {"forward": [], "grad_lhs": [], "grad_rhs": []}
    end = 0
    for group, size in enumerate(sizes):
        rows = slice(end, end := end + size)
        own_lhs, own_cotangent = _at(lhs, rows), _at(cotangent, rows)
        matrix = Bounded(value=rhs.value[group], error=rhs.error[group])
        parts["forward"].append(math.matmul(own_lhs, matrix))
        parts["grad_lhs"].append(math.matmul(own_cotangent, matrix.transposed))
        gradient = math.matmul(own_lhs.transposed, own_cotangent)
        parts["grad_rhs"].append(Bounded(value=gradient.value[None], error=gradient.error[None]))
    return {
        name: Bounded(
            value=np.concatenate([part.value for part in own]), error=np.concatenate([part.error for part in own])
        )
        for name, own in parts.items()
    }


def _at(array: Bounded, rows: slice) -> Bounded:
    return Bounded(value=array.value[rows], error=array.error[rows])


def traced(backend: GroupedMatmul, dtype: DType, rows: int) -> dict[str, tuple[Callable[..., jax.Array], tuple]]:
    """The products of a backend, with arguments that have shapes and no numbers."""

    def array(*shape: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, dtype.value)

    lhs, rhs, cotangent, sizes = array(rows, 8), array(3, 8, 6), array(rows, 6), jax.ShapeDtypeStruct((3,), jnp.int32)
    return {
        "forward": (backend.forward, (lhs, rhs, sizes)),
        "grad_lhs": (backend.grad_lhs, (cotangent, rhs, sizes)),
        "grad_rhs": (backend.grad_rhs, (lhs, cotangent, sizes)),
    }


def require_apart(backend: GroupedMatmul, spoilt: int) -> None:
    """A group does not see the rows of the group `spoilt`. Zero times infinity is NaN: masking one operand alone would
    let it through."""
    sizes = SIZES["one_past_a_tile"]
    lhs, rhs, cotangent = (operand.copy() for operand in operands(ROWS, DType.FLOAT32))
    clean = computed(backend, (lhs, rhs, cotangent), sizes)
    rows = np.repeat(np.arange(GROUPS), sizes) == spoilt
    groups = np.arange(GROUPS) == spoilt
    lhs[rows], rhs[groups], cotangent[rows] = np.inf, np.nan, np.nan
    outputs = computed(backend, (lhs, rhs, cotangent), sizes)
    for name, own in (("forward", rows), ("grad_lhs", rows), ("grad_rhs", groups)):
        np.testing.assert_array_equal(outputs[name][~own], clean[name][~own])
        assert not np.isfinite(outputs[name][own]).any()


class BackendContract:
    """What every backend must do. A subclass names its backend."""

    backend: ClassVar[GroupedMatmul]

    @pytest.mark.parametrize("dtype", TIMED_DTYPES)
    @pytest.mark.sample(1)
    def test_products_of_awkward_groups(self, dtype: DType) -> None:
        given = operands(ROWS, dtype)
        for name, sizes in SIZES.items():
            outputs = computed(self.backend, given, sizes)
            assert {array.dtype for array in outputs.values()} == {np.dtype(np.float32)}
            comparison = compare(outputs, expected(self.backend, given, sizes))
            assert comparison.passed, (name, comparison)
            assert not outputs["grad_rhs"][np.array(sizes) == 0].any()


class KernelContract(BackendContract):
    """What a kernel of this project must do as well."""

    def test_a_group_does_not_see_the_rows_of_others(self) -> None:
        require_apart(self.backend, spoilt=3)

    @pytest.mark.parametrize("sizes", [(3, 40, 0, 130, 0, 450), (0, 0, 0, 0, 0, 0)])
    def test_rows_past_the_groups_are_zeros(self, sizes: tuple[int, ...]) -> None:
        given = operands(ROWS, DType.FLOAT32)
        outputs = computed(self.backend, given, sizes)
        owned = sum(sizes)
        for name in ("forward", "grad_lhs"):
            assert outputs[name][:owned].all()
            assert not outputs[name][owned:].any()
        found = {"grad_rhs": outputs["grad_rhs"]}
        assert compare(found, {"grad_rhs": expected(self.backend, given, sizes)["grad_rhs"]}).passed

    def test_no_rows(self) -> None:
        outputs = computed(self.backend, drawn(3, ((0, 8), (3, 8, 6), (0, 6)), DType.FLOAT32), (0, 0, 0))
        assert [output.shape for output in outputs.values()] == [(0, 6), (0, 8), (3, 8, 6)]
        assert not outputs["grad_rhs"].any()
