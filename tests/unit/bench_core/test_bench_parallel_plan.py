"""What each device has to do, against a count slot by slot."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.parallel.plan import SpreadPlan, plan_spread
from bench_core.parallel.spread import EpImpl, Spread
from bench_core.routing.request import UNLIMITED, Capacity, CapacityPolicy
from tests.breadth import examples

SPREADS = [
    Spread(dp=4),
    *(Spread(dp=dp, ep=4 // dp, impl=impl) for impl in EpImpl for dp in (1, 2)),
]


def _named(spread: Spread) -> str:
    return f"{spread.impl or 'dp'} {spread.dp} x {spread.ep}"


SENDS_ROWS = (EpImpl.ALL_TO_ALL, EpImpl.RAGGED_ALL_TO_ALL)


@st.composite
def routings(draw: st.DrawFn) -> tuple[np.ndarray, int, int]:
    """Chosen experts with null slots, of tokens whose number need not be divisible; then tokens and experts."""
    tokens, experts = draw(st.integers(1, 13)), 4 * draw(st.integers(1, 3))
    topk = draw(st.integers(1, experts))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    skew = rng.dirichlet(np.full(experts, draw(st.sampled_from([0.1, 1.0, 100.0]))))
    chosen = np.stack([rng.permuted(np.argsort(-skew * rng.random(experts)))[:topk] for _ in range(tokens)])
    chosen[rng.random(chosen.shape) < draw(st.sampled_from([0.0, 0.3, 1.0]))] = experts
    return chosen.astype(np.int32), tokens, experts


def _padded(chosen: np.ndarray, experts: int, spread: Spread) -> np.ndarray:
    more = spread.padded_tokens(len(chosen)) - len(chosen)
    return np.pad(chosen, ((0, more), (0, 0)), constant_values=experts)


def _slots(chosen: np.ndarray, experts: int, spread: Spread, capacity: Capacity) -> tuple[list, list, int | None]:
    """(source, target) of every slot that is kept, in the order of tokens; those that are dropped; the limit."""
    tokens, topk = chosen.shape
    own = tokens // spread.devices
    sends_rows = spread.impl in SENDS_ROWS
    limit = capacity.per_expert(
        assignments=(own if sends_rows else tokens // spread.dp) * topk,
        experts=spread.ep if sends_rows else experts,
    )
    seen: Counter[tuple[int, ...]] = Counter()
    kept, dropped = [], []
    for token in range(tokens):
        source = token // own
        shard = source // spread.ep
        for expert in chosen[token]:
            if expert == experts:
                continue
            target = shard * spread.ep + int(expert) // (experts // spread.ep)
            bucket = (source, target) if sends_rows else (shard, int(expert))
            seen[bucket] += 1
            (dropped if limit is not None and seen[bucket] > limit else kept).append((source, target))
    return kept, dropped, limit


def _planned(chosen: np.ndarray, tokens: int, experts: int, spread: Spread, capacity: Capacity) -> SpreadPlan:
    return plan_spread(chosen, tokens=tokens, experts=experts, capacity=capacity, spread=spread)


@pytest.mark.parametrize("spread", SPREADS, ids=_named)
@examples(30)
@given(routings(), st.sampled_from([None, 0.3, 0.75, 1.0, 4.0]))
def test_counts_are_those_of_a_count_by_hand(
    spread: Spread, routing: tuple[np.ndarray, int, int], factor: float | None
) -> None:
    chosen, tokens, experts = routing
    capacity = UNLIMITED if factor is None else Capacity(policy=CapacityPolicy.DROP, factor=factor)
    chosen = _padded(chosen, experts, spread)
    plan = _planned(chosen, tokens, experts, spread, capacity)
    kept, dropped, limit = _slots(chosen, experts, spread, capacity)
    null = int((chosen[:tokens] == experts).sum())
    assert (plan.assignments.real, plan.assignments.dropped, plan.assignments.null) == (len(kept), len(dropped), null)
    rows = Counter(target for _, target in kept)
    assert plan.rows == tuple(rows[device] for device in range(4))
    # Every device's buffer holds the most that one has, and is not larger.
    assert plan.most_rows == max([1, *rows.values()])
    if spread.impl in SENDS_ROWS:
        pairs = Counter(kept)
        assert plan.pair_rows == max([1, *pairs.values()])
        assert plan.sent_rows == max([1, *Counter(source for source, _ in kept).values()])
    assert (None if plan.buckets is None else plan.buckets.capacity) == limit


def test_padded_experts_have_their_capacity_each() -> None:
    spread = Spread(dp=2, ep=2, impl=EpImpl.PSUM)
    capacity = Capacity(policy=CapacityPolicy.PAD, factor=1.5)
    plan = _planned(np.zeros((8, 1), np.int32), 8, 4, spread, capacity)
    # ceil(1.5 * 4 tokens of a data shard / 4 experts) = 2 rows for each of two experts.
    assert plan.most_rows == 4
    assert plan.assignments.dropped == 4
