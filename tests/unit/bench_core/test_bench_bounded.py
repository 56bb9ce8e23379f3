"""The error bounds hold for what float32 programs really compute."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.blocks.bounded import SILU_LIPSCHITZ, Bounded, BoundedMath
from bench_core.gmm.base import FLOAT32_ACCUMULATION
from bench_core.quant import fake_quantise
from bench_core.shapes import DType
from tests.unit.bench_core.bench_problems import COMPILES

FLOAT32 = BoundedMath(arithmetic=FLOAT32_ACCUMULATION, dtype=DType.FLOAT32)


def _holds(program: np.ndarray, bounded: Bounded) -> bool:
    return bool((np.abs(np.asarray(program, np.float64) - bounded.value) <= bounded.error).all())


@pytest.mark.parametrize(
    ("operation", "program"),
    [
        (FLOAT32.silu, jax.nn.silu),
        (FLOAT32.sigmoid, jax.nn.sigmoid),
        (FLOAT32.silu_derivative, jax.vmap(jax.grad(jax.nn.silu))),
    ],
    ids=["silu", "sigmoid", "silu_derivative"],
)
def test_declared_roundings_cover_the_elementary_functions(operation, program) -> None:
    x = np.linspace(-40, 40, 40_001, dtype=np.float32)
    assert _holds(jax.jit(program)(x), operation(Bounded.exact(x)))


@pytest.mark.parametrize("scale", [1, 30])
def test_declared_roundings_cover_a_softmax(scale: int) -> None:
    logits = np.float32(scale) * np.random.default_rng(0).standard_normal((4_000, 8), np.float32)
    assert _holds(jax.jit(jax.nn.softmax)(logits), FLOAT32.softmax(Bounded.exact(logits)))


def test_silu_lipschitz_constant_is_an_upper_bound() -> None:
    slope = FLOAT32.silu_derivative(Bounded.exact(np.linspace(-20, 20, 200_001))).value
    assert 0.999 * SILU_LIPSCHITZ < np.abs(slope).max() <= SILU_LIPSCHITZ


@COMPILES
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e-7, 1e-3, 1e-1]))
@pytest.mark.slow
def test_fake_quantisation_bound_covers_a_perturbed_operand(seed: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    value = rng.normal(size=(5, 16))
    error = size * rng.uniform(size=value.shape)
    perturbed = (value + error * rng.uniform(-1, 1, size=value.shape)).astype(np.float32)
    # The cast to float32 is one more perturbation.
    operand = Bounded(value=value, error=error + np.abs(value) * 2.0**-23)
    assert _holds(fake_quantise(jnp.asarray(perturbed), -1), FLOAT32.fake_quantised(operand, axis=-1))


@pytest.mark.parametrize("tie", [0.5, 1.5, -2.5, 126.5])
def test_a_tie_costs_one_level_and_no_more(tie: float) -> None:
    operand = Bounded(value=np.array([[127.0, tie]]), error=np.array([[0.0, 1e-6]]))
    quantised = FLOAT32.fake_quantised(operand, axis=-1)
    assert quantised.error[0, 1] == pytest.approx(1.0, rel=1e-4)
    # Off the tie the decision is certain, and only the scale's rounding is left.
    operand = Bounded(value=np.array([[127.0, tie + 0.01]]), error=np.array([[0.0, 1e-6]]))
    assert FLOAT32.fake_quantised(operand, axis=-1).error[0, 1] < 1e-4


@pytest.mark.slow
def test_zero_rows_quantise_to_zeros() -> None:
    zeros = np.zeros((2, 3), np.float32)
    assert not np.asarray(fake_quantise(jnp.asarray(zeros), -1)).any()
    bounded = FLOAT32.fake_quantised(Bounded.exact(zeros), axis=-1)
    assert not bounded.value.any()
    assert not bounded.error.any()


def test_matmul_bound_covers_float32() -> None:
    rng = np.random.default_rng(0)
    left, right = (
        rng.normal(size=(9, 300)).astype(np.float32),
        rng.normal(size=(300, 8)).astype(np.float32),
    )
    bounded = FLOAT32.matmul(Bounded.exact(left), Bounded.exact(right))
    assert _holds(left @ right, bounded)
    assert bounded.error.max() < 300 * 2.0**-23 * (np.abs(left) @ np.abs(right)).max()
