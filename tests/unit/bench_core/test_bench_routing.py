import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.routing.layout import load_statistics
from bench_core.routing.permute import combine, dispatch, sort_by_expert
from bench_core.routing.topk import route, route_padded
from tests.unit.bench_core.bench_problems import COMPILES

pytestmark = pytest.mark.slow

SIZES = st.sampled_from([(1, 1, 1), (7, 2, 5), (3, 3, 3)])


def _chosen(seed: int, tokens: int, topk: int, experts: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.stack([rng.permutation(experts)[:topk] for _ in range(tokens)]).astype(np.int32)


@COMPILES
@given(st.integers(0, 2**32 - 1), SIZES)
def test_permutation_round_trip(seed: int, sizes: tuple[int, int, int]) -> None:
    tokens, topk, experts = sizes
    chosen = _chosen(seed, tokens, topk, experts)
    permutation = sort_by_expert(jnp.asarray(chosen), experts)
    order, inverse = np.asarray(permutation.order), np.asarray(permutation.inverse)
    np.testing.assert_array_equal(order[inverse], np.arange(tokens * topk))
    np.testing.assert_array_equal(inverse[order], np.arange(tokens * topk))
    by_row = chosen.reshape(-1)[order]
    assert (np.diff(by_row) >= 0).all()
    np.testing.assert_array_equal(np.repeat(np.arange(experts), np.asarray(permutation.group_sizes)), by_row)
    # Ties keep their order: the sort is stable.
    assert all((np.diff(order[by_row == expert]) > 0).all() for expert in range(experts))


@pytest.mark.slow
def test_gradients_are_those_of_plain_indexing() -> None:
    chosen = jnp.asarray(_chosen(3, 7, 2, 5))
    permutation = sort_by_expert(chosen, 5)
    rows = jax.random.normal(jax.random.key(0), (7, 3))
    sorted_rows = jax.random.normal(jax.random.key(1), (14, 3))
    weight = jax.random.normal(jax.random.key(2), (14, 3))
    shares = jax.random.uniform(jax.random.key(3), (7, 2))

    def plain_combine(rows: jax.Array, shares: jax.Array) -> jax.Array:
        return (rows[permutation.inverse].reshape(7, 2, 3) * shares[:, :, None]).sum(axis=1)

    pairs = [
        (lambda x: dispatch(x, permutation), lambda x: x[permutation.order // 2], rows, weight),
        (lambda x: combine(x, permutation, shares), lambda x: plain_combine(x, shares), sorted_rows, weight[:7]),
        (
            lambda x: combine(sorted_rows, permutation, x),
            lambda x: plain_combine(sorted_rows, x),
            shares,
            weight[:7],
        ),
    ]
    for ours, plain, x, cotangent in pairs:
        gradients = [jax.grad(lambda x, f=f, c=cotangent: jnp.sum(f(x) * c))(x) for f in (ours, plain)]
        np.testing.assert_allclose(*gradients, rtol=1e-5)


def test_route_takes_the_largest_and_normalises_over_them() -> None:
    routing = route(jnp.array([[0.0, 3.0, 1.0], [2.0, 2.5, -1.0]]), 2)
    np.testing.assert_array_equal(routing.experts, [[1, 2], [1, 0]])
    first = 1 / (1 + np.exp(-2.0))
    np.testing.assert_allclose(routing.weights[0], [first, 1 - first], rtol=1e-6)
    np.testing.assert_allclose(np.asarray(routing.weights).sum(axis=1), 1.0, rtol=1e-6)


def test_tokens_that_were_added_choose_no_expert() -> None:
    routing = route_padded(jnp.array([[0.0, 3.0, 1.0], [-jnp.inf] * 3]), 2)
    assert routing.experts.tolist() == [[1, 2], [3, 3]]
    assert routing.weights[1].tolist() == [0, 0]
    assert float(routing.weights[0].sum()) == pytest.approx(1)


def test_load_counts_empty_experts() -> None:
    load = load_statistics(np.array([[0, 2], [0, 2], [0, 3]]), experts=5)
    assert (load.min, load.max, load.mean) == (0, 3, 1.2)
    assert load.std == pytest.approx(np.std([3, 0, 2, 1, 0]))
    assert load.cv == pytest.approx(load.std / 1.2)
