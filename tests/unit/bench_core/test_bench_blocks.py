"""Every implementation against the oracle, on shapes and routings that break careless code."""

import numpy as np
import pytest

from bench_core.harness.check import compare
from bench_core.shapes import TIMED_DTYPES, DType, MoeShape, QuantMode
from tests.breadth import wide
from tests.unit.bench_core.bench_problems import ODD, expected_of, inputs_of, outputs_of, with_experts

pytestmark = pytest.mark.slow

_TOKENS = np.arange(ODD.tokens)
ROUTINGS = {
    "random": None,
    "two_experts_take_all": np.tile([4, 1], (ODD.tokens, 1)),
    "first_and_last_empty": np.stack([1 + _TOKENS % 3, 1 + (_TOKENS + 1) % 3], axis=1),
    "sorted_already": np.stack([_TOKENS * 4 // ODD.tokens, np.full_like(_TOKENS, 4)], axis=1),
}


# The table of `bench-core check` has every pair of these.
COMBINATIONS = [
    ("fused_w13", DType.BFLOAT16, QuantMode.INT8),
    ("baseline", DType.FLOAT32, QuantMode.INT8_REAL),
    wide("baseline", DType.BFLOAT16, QuantMode.NONE),
]


@pytest.mark.parametrize("routing", ROUTINGS)
@pytest.mark.parametrize(("impl", "dtype", "quant_mode"), COMBINATIONS)
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
