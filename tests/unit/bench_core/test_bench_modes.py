"""Null slots, capacity, remat, sorting and fusion of the shared expert, each against the oracle."""

from dataclasses import dataclass, field

import jax
import numpy as np
import pytest

from bench_core.blocks.modes import IMPLS, RematMode
from bench_core.blocks.moe import BlockSpec, store_weights
from bench_core.blocks.program import one_device, pass_function, prepare_queue
from bench_core.gmm.registry import BACKENDS
from bench_core.harness.check import compare
from bench_core.routing.request import (
    UNLIMITED,
    Capacity,
    CapacityPolicy,
    Distribution,
    NullMode,
    PackStrategy,
    RoutingRequest,
)
from bench_core.shapes import BenchPass, DType, MoeShape, QuantMode
from tests.breadth import wide
from tests.unit.bench_core.bench_problems import ODD, expected_of, inputs_of, outputs_of

pytestmark = pytest.mark.slow

ALL_NULL = RoutingRequest(null_frac=0.99)
PREFIX = RoutingRequest(null_frac=0.4, null_mode=NullMode.TAKE_UNTIL_NULL, renormalize=True)
RUNS = RoutingRequest(distribution=Distribution.RUNS, run_alpha=0.7)
DROP = Capacity(policy=CapacityPolicy.DROP, factor=0.7)
WIDE = Capacity(policy=CapacityPolicy.DROP, factor=9.0)
TIGHT_PAD = Capacity(policy=CapacityPolicy.PAD, factor=0.5)
NO_SHARED = MoeShape(tokens=13, hidden=11, mlp_dim=7, experts=5, topk=2)


@dataclass(frozen=True, kw_only=True)
class Problem:
    impl: str
    dtype: DType
    request: RoutingRequest = field(default_factory=RoutingRequest)
    quant_mode: QuantMode = QuantMode.NONE
    capacity: Capacity = UNLIMITED
    options: tuple[tuple[str, object], ...] = ()
    shape: MoeShape = ODD


# Every two of these meet in the table of `bench-core check`; here are their limits, and all of them at once.
PROBLEMS = {
    "everything at once": Problem(
        impl="fused_w13",
        dtype=DType.BFLOAT16,
        request=PREFIX,
        capacity=DROP,
        options=(
            ("shared_fused", True),
            ("pack_strategy", PackStrategy.TUPLE_SORT),
            ("remat_mode", RematMode.EXPERT_MLP),
        ),
    ),
    "padded and dropped": Problem(impl="fused_w13", dtype=DType.FLOAT32, capacity=TIGHT_PAD, request=RUNS),
    "all null": Problem(impl="fused_w13", dtype=DType.FLOAT32, request=ALL_NULL),
    "all null, nothing shared": Problem(impl="baseline", dtype=DType.FLOAT32, request=ALL_NULL, shape=NO_SHARED),
    "nothing over": Problem(impl="baseline", dtype=DType.FLOAT32, capacity=WIDE, quant_mode=QuantMode.INT8),
}


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
@pytest.mark.sample(3)
def test_mode_agrees_with_the_oracle(problem: Problem) -> None:
    inputs = inputs_of(problem.shape, problem.dtype, request=problem.request)
    words = (problem.dtype, problem.impl, problem.quant_mode)
    outputs = outputs_of(inputs, problem.shape, *words, capacity=problem.capacity, **dict(problem.options))
    expected = expected_of(inputs, problem.dtype, problem.quant_mode, capacity=problem.capacity)
    comparison = compare(outputs, expected)
    assert comparison.passed, comparison


@pytest.mark.parametrize("quant_mode", QuantMode)
@pytest.mark.sample(1)
def test_prequeue_is_the_same_block_without_its_sort(quant_mode: QuantMode) -> None:
    inputs = inputs_of(ODD, DType.BFLOAT16)
    spec = BlockSpec(
        backend=BACKENDS["ragged_dot"].load(platform="cpu"), impl=IMPLS["fused_w13"], quant_mode=quant_mode
    )
    queue = prepare_queue(inputs.x, inputs.routing, ODD.experts, spec)
    arguments = (inputs.x, store_weights(inputs.weights, spec.impl), inputs.routing, queue)
    forward = jax.jit(pass_function(one_device(spec), BenchPass.FORWARD))
    outputs = {name: np.asarray(array) for name, array in forward(*arguments).items()}
    expected = expected_of(inputs, DType.BFLOAT16, quant_mode, BenchPass.FORWARD)
    assert compare(outputs, expected).passed
    text = forward.lower(*arguments).as_text()
    assert "stablehlo.sort" not in text
    assert "stablehlo.sort" in forward.lower(*arguments[:3]).as_text()


def _matmul_rows(request: RoutingRequest) -> set[int]:
    """Rows of the block's grouped matmuls, as JAX traced them."""
    from bench_core.routing.layout import plan_assignments

    inputs = inputs_of(NO_SHARED, DType.FLOAT32, request=request)
    chosen = np.asarray(inputs.routing.experts)
    layout = plan_assignments(chosen, experts=NO_SHARED.experts, capacity=UNLIMITED).layout
    backend = BACKENDS["ragged_dot"].load(platform="cpu")
    spec = BlockSpec(backend=backend, impl=IMPLS["baseline"], quant_mode=QuantMode.NONE, layout=layout)
    rows: set[int] = set()

    class Counting(type(backend)):  # type: ignore[misc]
        def forward(self, lhs, rhs, group_sizes):
            rows.add(lhs.shape[0])
            return backend.forward(lhs, rhs, group_sizes)

    spec = BlockSpec(backend=Counting(), impl=spec.impl, quant_mode=spec.quant_mode, layout=layout)
    function = pass_function(one_device(spec), BenchPass.FORWARD)
    jax.eval_shape(function, inputs.x, store_weights(inputs.weights, spec.impl), inputs.routing)
    return rows


def test_null_slots_cost_no_expert_work() -> None:
    assert _matmul_rows(RoutingRequest()) == {26}
    assert _matmul_rows(RoutingRequest(null_frac=0.5)) == {13}
    assert _matmul_rows(RoutingRequest(null_frac=0.99)) == set()


@pytest.mark.parametrize("impl", ["baseline", wide("fused_w13")])
def test_remat_of_experts_recomputes(impl: str) -> None:
    inputs = inputs_of(ODD, DType.BFLOAT16)
    programs = {}
    for mode in (RematMode.NONE, RematMode.EXPERT_MLP):
        backend = BACKENDS["ragged_dot"].load(platform="cpu")
        spec = BlockSpec(backend=backend, impl=IMPLS[impl], quant_mode=QuantMode.NONE, remat_mode=mode)
        arguments = (inputs.x, store_weights(inputs.weights, spec.impl), inputs.routing)
        compiled = jax.jit(pass_function(one_device(spec), BenchPass.FORWARD_BACKWARD)).lower(*arguments).compile()
        programs[mode] = compiled.as_text().count(" dot(")
    assert programs[RematMode.EXPERT_MLP] > programs[RematMode.NONE]
