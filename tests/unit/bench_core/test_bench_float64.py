"""float64: for the check alone, of the same numbers, and in float64 throughout."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bench_core.blocks.bounded import Bounded
from bench_core.blocks.inputs import make_inputs
from bench_core.gmm.base import DenseMatmul
from bench_core.harness.case import Case
from bench_core.harness.check import FLOAT64_TOLERANCE, bounded_alike, compare
from bench_core.harness.run import check_case
from bench_core.harness.table import ROUTINGS, forms
from bench_core.parallel.spread import ALONE, Parallel
from bench_core.quant import types_for
from bench_core.routing.request import Capacity, CapacityPolicy, RoutingRequest
from bench_core.shapes import BenchPass, DType, MoeShape
from tests.breadth import wide

# Three tokens more than devices, and experts that no token chooses.
SHAPE = MoeShape(tokens=7, hidden=9, mlp_dim=5, experts=8, topk=2, shared_expert_dim=2)


def _case(backend: str, parallel: Parallel = ALONE, *, impl: str = "fused_w13") -> Case:
    return Case(
        shape=SHAPE,
        dtype=DType.FLOAT64,
        routing=RoutingRequest(null_frac=0.2),
        backend=backend,
        impl=impl,
        bench_pass=BenchPass.FORWARD_BACKWARD,
        # Slots without an expert, slots that are dropped, and on several devices rows without a slot.
        capacity=Capacity(policy=CapacityPolicy.DROP, factor=1.0),
        parallel=parallel,
    )


def test_only_cases_of_float64_have_64_bits() -> None:
    for dtype, has in ((DType.FLOAT32, False), (DType.BFLOAT16, False), (DType.FLOAT64, True)):
        with types_for(dtype):
            assert jax.config.read("jax_enable_x64") is has
    assert jax.config.read("jax_enable_x64") is False


@pytest.mark.slow
@pytest.mark.parametrize("request_", ROUTINGS.values(), ids=list(ROUTINGS))
def test_inputs_are_the_numbers_of_float32(request_: RoutingRequest) -> None:
    narrow = make_inputs(3, shape=SHAPE, dtype=DType.FLOAT32, request=request_)
    with types_for(DType.FLOAT64):
        widened = make_inputs(3, shape=SHAPE, dtype=DType.FLOAT64, request=request_)
    assert {array.dtype for array in (widened.x, *widened.weights.values())} == {np.dtype("float64")}
    assert [array.dtype for array in widened.routing] == [array.dtype for array in narrow.routing]
    for one, other in zip(jax.tree.leaves(widened), jax.tree.leaves(narrow), strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "form", "impl"),
    [
        ("tiled", "one", "baseline"),
        ("tiled", "psum 4", "fused_w13"),
        wide("ragged_dot", "one", "baseline"),
    ],
)
def test_the_block_computes_in_float64(backend: str, form: str, impl: str) -> None:
    outcome = check_case(_case(backend, ALONE if form == "one" else forms(4)[form], impl=impl))
    assert outcome.word == "passed", outcome.text
    assert outcome.relative is not None
    assert outcome.relative < 1e-14
    assert outcome.text == f"passed, {outcome.relative:.1e} of the largest element"


@pytest.mark.slow
def test_one_sum_in_float32_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the shared expert alone."""
    exact = DenseMatmul.forward

    def rounded(*arguments: Any) -> jax.Array:
        return exact(*arguments).astype(jnp.float32).astype(jnp.float64)

    monkeypatch.setattr(DenseMatmul, "forward", rounded)
    outcome = check_case(_case("tiled"))
    assert outcome.word == "failed"
    assert "check_failed" in outcome.text


@pytest.mark.parametrize(("off", "passed"), [(0.9, True), (1.1, False)])
def test_differences_are_held_against_the_largest_element(off: float, passed: bool) -> None:
    value = np.array([1e-3, -4.0, 0.5])
    expected = bounded_alike({"output": Bounded.exact(value)}, FLOAT64_TOLERANCE)
    comparison = compare({"output": value + np.array([off * 4e-12, 0, 0])}, expected)
    assert comparison.passed is passed
    assert comparison.error_ratio == pytest.approx(off, rel=1e-3)
