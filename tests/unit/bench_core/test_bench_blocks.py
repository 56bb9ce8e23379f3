"""Every implementation against the oracle, on shapes and routings that break careless code."""

import itertools

import numpy as np
import pytest

from bench_core.blocks.compare import compare
from bench_core.quant.mode import QuantMode
from bench_core.shapes import TIMED_DTYPES, BenchPass, DType, MoeShape
from tests.breadth import covering, wide
from tests.unit.bench_core.bench_problems import ODD, expected_of, inputs_of, outputs_of, with_experts

pytestmark = pytest.mark.slow

_TOKENS = np.arange(ODD.tokens)
ROUTINGS = {
    "random": None,
    "two_experts_take_all": np.tile([4, 1], (ODD.tokens, 1)),
    "first_and_last_empty": np.stack([1 + _TOKENS % 3, 1 + (_TOKENS + 1) % 3], axis=1),
    "sorted_already": np.stack([_TOKENS * 4 // ODD.tokens, np.full_like(_TOKENS, 4)], axis=1),
}

AWKWARD = {
    "one_token": MoeShape(tokens=1, hidden=5, mlp_dim=3, experts=4, topk=2, shared_expert_dim=2),
    "topk_is_experts": MoeShape(tokens=6, hidden=5, mlp_dim=3, experts=3, topk=3),
    "one_expert_takes_all": MoeShape(tokens=7, hidden=3, mlp_dim=5, experts=1, topk=1),
    "unit_sizes": MoeShape(tokens=1, hidden=1, mlp_dim=1, experts=1, topk=1, shared_expert_dim=1),
    "more_experts_than_tokens": MoeShape(tokens=2, hidden=6, mlp_dim=9, experts=17, topk=3),
}


def _combinations() -> list:
    """The baseline with every dtype and quantisation, and the other implementation with one of these: the table of
    `bench-core check` has the pairs."""
    fast = ("fused_w13", DType.BFLOAT16, QuantMode.INT8)
    pairs = list(itertools.product(TIMED_DTYPES, QuantMode))
    words = [("baseline", *pair) for pair in pairs]
    return [fast, *(pytest.param(*found) if at == 2 else wide(*found) for at, found in enumerate(words))]


@pytest.mark.parametrize("routing", ROUTINGS)
@pytest.mark.parametrize(("impl", "dtype", "quant_mode"), _combinations())
@pytest.mark.sample(6)
def test_block_and_gradients_agree_with_the_oracle(
    impl: str, dtype: DType, quant_mode: QuantMode, routing: str
) -> None:
    inputs = inputs_of(ODD, dtype)
    chosen = ROUTINGS[routing]
    if chosen is not None:
        inputs = with_experts(inputs, chosen)
    outputs = outputs_of(inputs, ODD, dtype, impl, quant_mode)
    comparison = compare(outputs, expected_of(inputs, dtype, quant_mode))
    assert comparison.passed, comparison


@pytest.mark.slow
@pytest.mark.parametrize("quant_mode", QuantMode)
@pytest.mark.sample(1)
def test_unchosen_experts_get_no_gradient(quant_mode: QuantMode) -> None:
    inputs = with_experts(inputs_of(ODD, DType.FLOAT32), ROUTINGS["two_experts_take_all"])
    outputs = outputs_of(inputs, ODD, DType.FLOAT32, "baseline", quant_mode)
    for name in ("grad_w1", "grad_w3", "grad_w2"):
        assert not outputs[name][[0, 2, 3]].any()
        assert outputs[name][[1, 4]].any()


@pytest.mark.slow
def test_forward_alone_agrees_with_the_oracle() -> None:
    inputs = inputs_of(ODD, DType.BFLOAT16)
    arguments = (ODD, DType.BFLOAT16, "fused_w13", QuantMode.INT8, BenchPass.FORWARD)
    outputs = outputs_of(inputs, *arguments)
    expected = expected_of(inputs, DType.BFLOAT16, QuantMode.INT8, BenchPass.FORWARD)
    assert compare(outputs, expected).passed


# Every dtype, quantisation and pass with every shape, but not all of their products.
MIXED = [
    ("baseline", DType.FLOAT32, QuantMode.NONE, BenchPass.FORWARD),
    ("baseline", DType.BFLOAT16, QuantMode.INT8, BenchPass.FORWARD_BACKWARD),
    ("fused_w13", DType.FLOAT32, QuantMode.NONE, BenchPass.FORWARD_BACKWARD),
    ("baseline", DType.BFLOAT16, QuantMode.NONE, BenchPass.FORWARD_BACKWARD),
    ("fused_w13", DType.FLOAT32, QuantMode.INT8, BenchPass.FORWARD_BACKWARD),
    ("fused_w13", DType.BFLOAT16, QuantMode.INT8, BenchPass.FORWARD),
]
# Every shape, and every row of MIXED, at least once.
AWKWARD_CASES = covering([(shape, *row) for shape in AWKWARD.values() for row in MIXED], lambda c: [c[0], c[1:]])


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "impl", "dtype", "quant_mode", "bench_pass"), AWKWARD_CASES)
@pytest.mark.sample(1)
def test_awkward_shapes(shape: MoeShape, impl: str, dtype: DType, quant_mode: QuantMode, bench_pass: BenchPass) -> None:
    inputs = inputs_of(shape, dtype)
    outputs = outputs_of(inputs, shape, dtype, impl, quant_mode, bench_pass)
    comparison = compare(outputs, expected_of(inputs, dtype, quant_mode, bench_pass))
    assert comparison.passed, comparison


@pytest.mark.slow
@pytest.mark.wide
@pytest.mark.parametrize("quant_mode", QuantMode)
@pytest.mark.parametrize("dtype", TIMED_DTYPES)
def test_no_false_alarm_over_seeds(dtype: DType, quant_mode: QuantMode) -> None:
    shape = MoeShape(tokens=64, hidden=64, mlp_dim=48, experts=8, topk=3, shared_expert_dim=48)
    for seed in range(3):
        inputs = inputs_of(shape, dtype, seed)
        outputs = outputs_of(inputs, shape, dtype, "baseline", quant_mode)
        comparison = compare(outputs, expected_of(inputs, dtype, quant_mode))
        assert comparison.passed, (seed, comparison)
