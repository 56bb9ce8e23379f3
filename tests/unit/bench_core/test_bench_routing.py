import jax.numpy as jnp
import numpy as np
import pytest

from bench_core.routing.topk import route, route_padded

pytestmark = pytest.mark.slow


def _chosen(seed: int, tokens: int, topk: int, experts: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.stack([rng.permutation(experts)[:topk] for _ in range(tokens)]).astype(np.int32)


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
