import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.quant import fake_quantise, round_to
from tests.unit.bench_core.bench_problems import COMPILES

pytestmark = pytest.mark.slow


@COMPILES
@given(st.integers(0, 2**32 - 1), st.sampled_from([-1, -2]), st.integers(-60, 60))
def test_error_is_at_most_half_a_level(seed: int, axis: int, exponent: int) -> None:
    rng = np.random.default_rng(seed)
    values = (rng.standard_cauchy(size=(6, 5)) * 2.0**exponent).astype(np.float32)
    level = np.abs(values.astype(np.float64)).max(axis=axis, keepdims=True) / 127
    quantised = np.asarray(fake_quantise(jnp.asarray(values), axis), np.float64)
    # Half a level, and three float32 roundings of the largest code.
    assert (np.abs(quantised - values) <= level * (0.5 + 3 * 127 * 2.0**-24)).all()
    codes = quantised / level
    np.testing.assert_allclose(codes, np.rint(codes), atol=3 * 127 * 2.0**-24)
    assert np.abs(np.rint(codes)).max() == 127


def test_scales_belong_to_rows_or_columns() -> None:
    values = jnp.array([[1.0, 100.0], [0.4, 300.0]])
    by_row, by_column = fake_quantise(values, -1), fake_quantise(values, -2)
    np.testing.assert_allclose(by_row[:, 0], [100 / 127, 0.0], rtol=1e-6)
    np.testing.assert_allclose(by_column[:, 0], [1.0, 51 / 127], rtol=1e-6)


def test_gradient_is_straight_through() -> None:
    values = jax.random.normal(jax.random.key(0), (3, 4))
    weight = jax.random.normal(jax.random.key(1), (3, 4))
    gradient = jax.grad(lambda x: jnp.sum(fake_quantise(x, -1) * weight))(values)
    np.testing.assert_array_equal(gradient, weight)


def test_rounding_is_not_dropped_by_the_compiler() -> None:
    values = jax.random.normal(jax.random.key(0), (64,))
    compiled = jax.jit(lambda x: round_to(x, jnp.dtype(jnp.bfloat16)).astype(jnp.float32))(values)
    np.testing.assert_array_equal(compiled, values.astype(jnp.bfloat16).astype(jnp.float32))
    assert (compiled != values).any()
