"""Where the slots of a routing go: runs, nulls, capacity."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.blocks.inputs import real_slots, real_weights, run_favourites, run_logits
from bench_core.routing.layout import load_statistics, plan_assignments, run_statistics
from bench_core.routing.permute import sort_by_expert
from bench_core.routing.request import (
    UNLIMITED,
    Capacity,
    CapacityPolicy,
    Distribution,
    NullMode,
    PackStrategy,
    RoutingRequest,
)
from bench_core.shapes import DType, MoeShape
from tests.unit.bench_core.bench_problems import COMPILES, inputs_of

pytestmark = pytest.mark.slow

SEEDS = st.integers(0, 2**32 - 1)
FRACTIONS = st.floats(0, 0.999)


def _chosen(rng: np.random.Generator, tokens: int, topk: int, experts: int) -> np.ndarray:
    return np.stack([rng.permutation(experts)[:topk] for _ in range(tokens)]).astype(np.int32)


@given(SEEDS, FRACTIONS, st.sampled_from(NullMode), st.integers(1, 60), st.integers(1, 6))
def test_the_null_fraction_is_met_and_a_prefix_is_kept(
    seed: int, fraction: float, mode: NullMode, tokens: int, topk: int
) -> None:
    real = real_slots(np.random.default_rng(seed), tokens=tokens, topk=topk, null_frac=fraction, mode=mode)
    assert abs((~real).sum() / real.size - fraction) <= 0.5 / real.size + 1e-12
    if mode is NullMode.TAKE_UNTIL_NULL:
        # Never real again behind a null.
        assert (np.diff(real.astype(int), axis=1) <= 0).all()


def test_independent_nulls_fall_on_every_slot_and_prefixes_vary() -> None:
    slots = {
        mode: real_slots(np.random.default_rng(3), tokens=4000, topk=4, null_frac=0.5, mode=mode) for mode in NullMode
    }
    # Four standard deviations of a share of 4,000.
    np.testing.assert_allclose(slots[NullMode.INDEPENDENT].mean(axis=0), 0.5, atol=4 * 0.5 / np.sqrt(4000))
    kept = np.bincount(slots[NullMode.TAKE_UNTIL_NULL].sum(axis=1), minlength=5)
    assert (kept > 0).all()
    # Each further slot is kept with the same chance, so that chances form a geometric row.
    shares = slots[NullMode.TAKE_UNTIL_NULL].mean(axis=0)
    np.testing.assert_allclose(shares[1:] / shares[:-1], shares[0], atol=0.05)


def test_null_weights() -> None:
    weights = np.array([[0.5, 0.3, 0.2], [0.6, 0.3, 0.1], [0.7, 0.2, 0.1]], np.float32)
    real = np.array([[True, False, True], [False, False, False], [True, True, True]])
    plain = real_weights(weights, real, renormalize=False)
    np.testing.assert_array_equal(plain, np.where(real, weights, 0))
    again = real_weights(weights, real, renormalize=True)
    np.testing.assert_allclose(again.sum(axis=1), [1, 0, 1], rtol=1e-6)
    np.testing.assert_allclose(again[0, 0] / again[0, 2], 2.5, rtol=1e-6)
    np.testing.assert_array_equal(again[2], weights[2])


def test_a_null_fraction_changes_nothing_but_the_null_slots() -> None:
    shape = MoeShape(tokens=9, hidden=3, mlp_dim=2, experts=4, topk=2)
    plain = inputs_of(shape, DType.FLOAT32)
    nulled = inputs_of(shape, DType.FLOAT32, request=RoutingRequest(null_frac=0.3))
    null = np.asarray(nulled.routing.experts) == shape.experts
    assert null.sum() == 5
    np.testing.assert_array_equal(nulled.x, plain.x)
    for ours, theirs, empty in zip(nulled.routing, plain.routing, (shape.experts, 0), strict=True):
        np.testing.assert_array_equal(ours, np.where(null, empty, np.asarray(theirs)))


CAPACITIES = st.sampled_from(
    [UNLIMITED]
    + [
        Capacity(policy=policy, factor=factor)
        for policy in (CapacityPolicy.DROP, CapacityPolicy.PAD)
        for factor in (0.3, 1.0, 2.5)
    ]
)


@pytest.mark.slow
@COMPILES
@given(SEEDS, st.sampled_from([0.0, 0.4, 0.9]), CAPACITIES, st.sampled_from(PackStrategy))
def test_every_slot_is_real_null_or_dropped(
    seed: int, fraction: float, capacity: Capacity, strategy: PackStrategy
) -> None:
    tokens, topk, experts = 7, 3, 4
    rng = np.random.default_rng(seed)
    chosen = _chosen(rng, tokens, topk, experts)
    real = real_slots(rng, tokens=tokens, topk=topk, null_frac=fraction, mode=NullMode.INDEPENDENT)
    chosen = np.where(real, chosen, np.int32(experts))
    assignments = plan_assignments(chosen, experts=experts, capacity=capacity)
    assert assignments.real + assignments.null + assignments.dropped == tokens * topk
    assert assignments.null == (~real).sum()
    limit = capacity.per_expert(assignments=tokens * topk, experts=experts)
    permutation = sort_by_expert(jnp.asarray(chosen), experts, strategy=strategy, layout=assignments.layout)
    order, inverse = np.asarray(permutation.order), np.asarray(permutation.inverse)
    sizes = np.asarray(permutation.group_sizes)
    filled = order < tokens * topk
    assert filled.sum() == assignments.real
    assert sizes.sum() == order.size
    np.testing.assert_array_equal(inverse[order[filled]], np.flatnonzero(filled))
    np.testing.assert_array_equal(np.sort(order[filled]), np.flatnonzero(inverse < order.size))
    expert_of_row = np.repeat(np.arange(experts), sizes)
    np.testing.assert_array_equal(chosen.reshape(-1)[order[filled]], expert_of_row[filled])
    for expert in range(experts):
        # The first assignments of an expert stay, in their order.
        own = np.flatnonzero(chosen.reshape(-1) == expert)
        np.testing.assert_array_equal(order[filled & (expert_of_row == expert)], own[:limit])
    if capacity.policy is CapacityPolicy.PAD:
        np.testing.assert_array_equal(sizes, limit)


@given(SEEDS, st.integers(1, 200), st.integers(1, 9), st.sampled_from([0.0, 0.5, 0.98]))
def test_runs_go_to_a_least_loaded_expert(seed: int, tokens: int, experts: int, alpha: float) -> None:
    favourites = run_favourites(np.random.default_rng(seed), tokens=tokens, experts=experts, alpha=alpha)
    assert favourites.shape == (tokens,)
    starts = np.flatnonzero(np.diff(favourites, prepend=-1))
    load = np.zeros(experts, int)
    for start, end in zip(starts, [*starts[1:], tokens], strict=True):
        # Two runs of one expert may meet only where it is still a least-loaded one.
        assert load[favourites[start]] == load.min()
        load[favourites[start]] += end - start


def test_run_lengths_have_the_mean_that_was_asked_for() -> None:
    tokens, alpha, mean = 200_000, 0.98, 1 / (1 - 0.98)
    favourites = run_favourites(np.random.default_rng(0), tokens=tokens, experts=60, alpha=alpha)
    runs = run_statistics(favourites[:, None], 60)
    # The standard deviation of a geometric length is below its mean; four of them, over the number of runs.
    assert runs.mean == pytest.approx(mean, abs=4 * mean / np.sqrt(runs.count))


def test_the_favourite_stands_out_of_the_noise() -> None:
    logits = run_logits(np.random.default_rng(0), tokens=50, experts=6, alpha=0.9, noise_scale=0.35)
    assert logits.dtype == np.float32
    ordered = np.sort(logits, axis=1)
    assert (ordered[:, -1] > 4).all()
    assert (ordered[:, :-1] < 2).all()
    shape = MoeShape(tokens=300, hidden=1, mlp_dim=1, experts=6, topk=2)
    lengths = {}
    for distribution in Distribution:
        request = RoutingRequest(distribution=distribution)
        chosen = np.asarray(inputs_of(shape, DType.FLOAT32, request=request).routing.experts)
        lengths[distribution] = run_statistics(chosen, 6).mean
    assert lengths[Distribution.RUNS] > 10 > 2 > lengths[Distribution.RANDOM]


def test_statistics_of_runs_and_loads_by_hand() -> None:
    chosen = np.array([[0, 1], [0, 2], [3, 1], [2, 3], [2, 0]])
    runs = run_statistics(chosen, 3)
    # The third token's first slot is null and left out.
    assert (runs.count, runs.mean, runs.max, runs.p95) == (2, 2.0, 2, 2.0)
    load = load_statistics(chosen, 3)
    assert (load.min, load.max, load.mean) == (2, 3, 8 / 3)
    nothing = np.full((2, 2), 3)
    assert run_statistics(nothing, 3).max is None
    assert load_statistics(nothing, 3).cv is None


@pytest.mark.parametrize(("factor", "rows"), [(1.0, 7), (1.25, 9), (0.01, 1)])
def test_capacity_rounds_up(factor: float, rows: int) -> None:
    capacity = Capacity(policy=CapacityPolicy.DROP, factor=factor)
    assert capacity.per_expert(assignments=26, experts=4) == rows
