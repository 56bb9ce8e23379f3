"""The oracle against finite differences of an independent forward pass, and against wrong programs."""

from collections.abc import Callable

import numpy as np
import pytest

from bench_core.blocks.bounded import Bounded, BoundedMath
from bench_core.blocks.oracle import Oracle, OracleInputs
from bench_core.gmm.base import FLOAT32_ACCUMULATION
from bench_core.harness.check import Comparison, compare
from bench_core.shapes import BenchPass, DType, QuantMode
from tests.unit.bench_core.bench_problems import ODD, expected_of, inputs_of, outputs_of

pytestmark = pytest.mark.slow

Arrays = dict[str, np.ndarray]


def _problem() -> tuple[Arrays, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    tokens, hidden, mlp, experts, shared = 3, 4, 3, 3, 2
    arrays = {
        "x": rng.normal(size=(tokens, hidden)),
        "w1": rng.normal(size=(experts, hidden, mlp)),
        "w3": rng.normal(size=(experts, hidden, mlp)),
        "w2": rng.normal(size=(experts, mlp, hidden)),
        "shared_w1": rng.normal(size=(1, hidden, shared)),
        "shared_w3": rng.normal(size=(1, hidden, shared)),
        "shared_w2": rng.normal(size=(1, shared, hidden)),
    }
    # Expert 2 is chosen by nobody.
    chosen = np.array([[0, 1], [1, 0], [0, 1]], np.int32)
    weights = np.array([[0.75, 0.25], [0.5, 0.5], [0.625, 0.375]], np.float32)
    return arrays, chosen, weights


def _levels(array: np.ndarray, axis: int) -> np.ndarray:
    scale = np.abs(array).max(axis=axis, keepdims=True) / 127
    return np.rint(array / scale) * scale


class _Reference:
    """The block token by token. Its fake quantisation adds the quantisation error of the base point as a
    constant, so that its true derivative is the straight-through gradient."""

    def __init__(self, base: Arrays, chosen: np.ndarray, weights: np.ndarray, quantised: bool) -> None:
        self._chosen, self._weights = chosen, weights
        self._offsets: dict[object, np.ndarray] = {}
        self._recording, self._quantised = True, quantised
        self.base_output = self.output(base)
        self._recording = False

    def _quantise(self, key: object, array: np.ndarray, axis: int) -> np.ndarray:
        if not self._quantised:
            return array
        if self._recording:
            self._offsets[key] = _levels(array, axis) - array
        return array + self._offsets[key]

    def _expert(self, arrays: Arrays, token: int, prefix: str, index: int) -> np.ndarray:
        row = self._quantise(("x", token), arrays["x"][token], -1)
        w1, w3, w2 = (
            self._quantise((prefix, name, index), arrays[prefix + name][index], -2) for name in ("w1", "w3", "w2")
        )
        gate = row @ w1
        hidden = gate / (1 + np.exp(-gate)) * (row @ w3)
        return self._quantise(("hidden", prefix, index, token), hidden, -1) @ w2

    def output(self, arrays: Arrays) -> np.ndarray:
        rows = []
        for token, (chosen, weights) in enumerate(zip(self._chosen, self._weights, strict=True)):
            routed = sum(
                float(weight) * self._expert(arrays, token, "", int(index))
                for index, weight in zip(chosen, weights, strict=True)
            )
            rows.append(routed + self._expert(arrays, token, "shared_", 0))
        return np.stack(rows)

    def loss(self, arrays: Arrays) -> float:
        return float(np.mean(self.output(arrays) ** 2))


def _finite_difference(loss: Callable[[Arrays], float], arrays: Arrays, name: str) -> np.ndarray:
    step = 1e-5
    gradient = np.zeros_like(arrays[name])
    for at in np.ndindex(gradient.shape):
        ends = []
        for sign in (1, -1):
            moved = arrays[name].copy()
            moved[at] += sign * step
            ends.append(loss(arrays | {name: moved}))
        gradient[at] = (ends[0] - ends[1]) / (2 * step)
    return gradient


@pytest.mark.parametrize("quant_mode", QuantMode)
def test_oracle_gradients_are_those_of_finite_differences(quant_mode: QuantMode) -> None:
    arrays, chosen, weights = _problem()
    reference = _Reference(arrays, chosen, weights, quantised=quant_mode is not QuantMode.NONE)
    math = BoundedMath(arithmetic=FLOAT32_ACCUMULATION, dtype=DType.FLOAT32)
    inputs = OracleInputs(
        x=arrays["x"],
        weights={name: array for name, array in arrays.items() if name != "x"},
        experts=chosen,
        routing_weights=weights,
    )
    expected = Oracle(math=math, quant_mode=quant_mode).expected(inputs, BenchPass.FORWARD_BACKWARD)
    np.testing.assert_allclose(expected["output"].value, reference.base_output, rtol=1e-12)
    np.testing.assert_allclose(expected["loss"].value, reference.loss(arrays), rtol=1e-12)
    for name in arrays:
        numeric = _finite_difference(reference.loss, arrays, name)
        np.testing.assert_allclose(expected[f"grad_{name}"].value, numeric, rtol=1e-6, atol=1e-9, err_msg=name)


def _off(array: np.ndarray, at: tuple[int, ...], by: float) -> np.ndarray:
    found = array.copy()
    found[at] += by
    return found


WRONG: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "tokens swapped": ("output", lambda a: a[::-1]),
    "experts swapped": ("grad_w2", lambda a: a[::-1]),
    "no gradient": ("grad_w3", np.zeros_like),
    "a gradient by a factor": ("grad_x", lambda a: a * 1.25),
    "one element": ("output", lambda a: _off(a, (3, 4), 2.0)),
    "one NaN": ("grad_shared_w1", lambda a: _off(a, (0, 1, 1), np.nan)),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_program_fails(wrong: str) -> None:
    """Also where the bounds are widest."""
    inputs = inputs_of(ODD, DType.BFLOAT16)
    outputs = outputs_of(inputs, ODD, DType.BFLOAT16, "baseline", QuantMode.INT8)
    expected = expected_of(inputs, DType.BFLOAT16, QuantMode.INT8)
    assert compare(outputs, expected).passed
    name, spoil = WRONG[wrong]
    comparison = compare({**outputs, name: spoil(outputs[name])}, expected)
    assert not comparison.passed
    assert comparison.worst_error > comparison.worst_tolerance


def test_the_largest_difference_need_not_be_the_one_closest_to_its_bound() -> None:
    def bounded(error: list[float]) -> Bounded:
        return Bounded(value=np.zeros(2), error=np.array(error))

    expected = {"loose": bounded([100.0, 100.0]), "tight": bounded([1.0, 0.25])}
    comparison = compare({"loose": np.array([0.0, 8.0]), "tight": np.array([0.75, 0.5])}, expected)
    assert comparison == Comparison(
        max_abs_error=8.0, output="tight", worst_error=0.5, worst_tolerance=0.25, error_ratio=2.0
    )


@pytest.mark.parametrize(
    ("dtype", "quant_mode", "limit"),
    [
        (DType.FLOAT32, QuantMode.NONE, 2e-4),
        (DType.FLOAT32, QuantMode.INT8, 2e-3),
        (DType.BFLOAT16, QuantMode.NONE, 2e-2),
        (DType.BFLOAT16, QuantMode.INT8, 1e-1),
    ],
)
def test_bounds_are_tight_enough_to_mean_something(dtype: DType, quant_mode: QuantMode, limit: float) -> None:
    expected = expected_of(inputs_of(ODD, dtype), dtype, quant_mode)
    for name, bounded in expected.items():
        typical = np.sqrt(np.mean(bounded.value**2))
        assert np.median(bounded.error) < limit * typical, name


def test_missing_and_misshapen_outputs_are_refused() -> None:
    expected = {"output": Bounded.exact(np.zeros((2, 3))), "grad_x": Bounded.exact(np.zeros(3))}
    with pytest.raises(ValueError, match="are not those of the oracle"):
        compare({"output": np.zeros((2, 3))}, expected)
    with pytest.raises(ValueError, match="has shape"):
        compare({"output": np.zeros((1, 3)), "grad_x": np.zeros(3)}, expected)
