"""The rule of a comparison: exact for one block, as a second implementation says for any pairs, and its forecasts."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.findings.comparison.rule import (
    Judged,
    Pair,
    chance_of,
    fewest_pairs,
    judge,
    scatter_of,
    step_of,
)
from logbook_agent.model.comparison import Design
from tests.breadth import examples
from tools.oracle import blocks as second

BOUND = math.log1p(0.01)


def made(pairs: int, effect: float = 0.0, *, noise: float = 0.02, seed: int = 0) -> list[Pair]:
    """Pairs of normal noise with this standard deviation, in the order that the design draws."""
    rng, design = random.Random(seed), Design(seed=seed)
    signs = [1 if design.order_of(n, 2) == [0, 1] else -1 for n in range(1, pairs + 1)]
    return [Pair(rng.gauss(0, noise) + effect * sign, sign, at // 10) for at, sign in enumerate(signs)]


def test_blocks_of_another_working_copy_have_a_draw_of_their_own() -> None:
    drawn = [[Design(seed=1).order_of(n, 2, copy=copy) for n in range(1, 11)] for copy in ("", "k3x9q", "p2m4a")]
    assert all(orders.count([0, 1]) == 5 for orders in drawn)
    assert drawn[0] != drawn[1] != drawn[2] != drawn[0]


def alone(pairs: list[Pair], *, minimum: float = 0.01, step: float = 0.0, looks: bool = True) -> Judged:
    return judge({"time": pairs}, minimum=minimum, steps={"time": [step] * len(pairs)}, looks=looks)["time"]


@pytest.mark.parametrize(("minimum", "most"), [(0.0, 0.025), (0.01, 0.025)])
def test_of_all_orders_of_a_block_no_more_claim_than_the_first_look_may(minimum: float, most: float) -> None:
    """The two sides are the same code: the ten differences would have been measured in any order."""
    rng = random.Random(3)
    y = [rng.gauss(0, 0.05) for _ in range(10)]
    outcomes = Counter[str]()
    for first in itertools.combinations(range(10), 5):
        outcomes[alone([Pair(v, -1 if at in first else 1, 0) for at, v in enumerate(y)], minimum=minimum).outcome] += 1
    claims = outcomes["more"] + outcomes["less"]
    assert outcomes["more"] == outcomes["less"]
    # 4 of the 252 orders: all comparisons agree, or all but one.
    assert (claims, claims / 252 <= most) == (4, True)


def block(number: int, agreeing: int) -> list[Pair]:
    """A block in which so many of the 25 comparisons favour the side."""
    second_runs = [0.1 + 0.001 * at for at in range(5)]
    below = [min(5, max(0, agreeing - 5 * at)) for at in range(5)]
    first_runs = [0.1 + 0.001 * (5 - one) - 0.0005 - 1e-6 * at for at, one in enumerate(below)]
    return [Pair(y, 1, number) for y in second_runs] + [Pair(y, -1, number) for y in first_runs]


@pytest.mark.parametrize("agreeing", [[24], [20, 20], [20, 19, 20], [20, 19, 19, 20]])
def test_so_many_comparisons_must_agree(agreeing: list[int]) -> None:
    """24 of 25, 40 of 50, 59 of 75, 78 of 100: one fewer leaves it open."""
    *before, last = agreeing
    for add, outcome in ((-1, "open"), (0, "more")):
        pairs = [pair for at, count in enumerate([*before, last + add]) for pair in block(at, count)]
        found = alone(pairs, minimum=0.0)
        assert (found.outcome, found.pairs) == (outcome, 10 * len(agreeing))


VALUES = st.one_of(st.none(), st.floats(-0.2, 0.2), st.sampled_from((0.0, 0.01, -0.01, 0.1)))


@st.composite
def families(draw: st.DrawFn) -> dict[str, list[Pair]]:
    """One to three series of up to 35 pairs, with missing values and ties, in blocks of any orders."""
    found = {}
    for name in "abc"[: draw(st.integers(1, 3))]:
        signs = draw(st.lists(st.sampled_from((-1, 1)), max_size=35))
        found[name] = [Pair(draw(VALUES), sign, at // 10) for at, sign in enumerate(signs)]
    return found


@examples(150)
@given(
    family=families(),
    minimum=st.sampled_from((0.0, 0.01, 0.05)),
    step=st.sampled_from((0.0, 0.003)),
    looks=st.booleans(),
)
def test_a_second_implementation_says_the_same(
    family: dict[str, list[Pair]], minimum: float, step: float, looks: bool
) -> None:
    found = judge(family, minimum=minimum, steps=dict.fromkeys(family, [step] * 4), looks=looks)
    measured = [
        second.Measured(
            later=[math.nan if p.y is None else p.y for p in pairs],
            second=[p.sign for p in pairs],
            block=[p.block for p in pairs],
            steps=[step] * 4,
        )
        for pairs in family.values()
    ]
    for said, one in zip(second.judge(measured, math.log1p(minimum), once=not looks), found.values(), strict=True):
        ends = tuple(None if math.isinf(end) else end for end in (one.low, one.high))
        assert (one.outcome, one.estimate, *ends, one.pairs) == (
            said.name,
            said.estimate,
            said.low,
            said.high,
            said.pairs,
        )


def test_series_share_the_chance() -> None:
    """Up to three can settle after one block; four or more need two."""
    pairs = made(10, 0.1, noise=1e-4)
    for count in (1, 3, 4):
        found = judge({str(n): pairs for n in range(count)}, minimum=0.01, steps={})
        assert {one.outcome for one in found.values()} == {"more" if count < 4 else "open"}


def test_a_fixed_number_of_pairs_is_judged_once() -> None:
    def fixed(count: int) -> list[Pair]:
        design = Design(seed=3, budget_pairs=count, fixed=True)
        signs = [1 if design.order_of(n, 2) == [0, 1] else -1 for n in range(1, count + 1)]
        return [Pair(0.1 * sign + 0.0001 * at, sign, at // 10) for at, sign in enumerate(signs)]

    assert [alone(fixed(count), looks=False).outcome for count in (6, 8, 13)] == ["open", "more", "more"]
    # With looks to come, so few pairs settle nothing.
    assert alone(fixed(8)).outcome == "open"
    assert [fewest_pairs(n) for n in (1, 2, 6, 7, 100)] == [8, 10, 10, 12, 16]


def test_the_step_of_a_clock_widens_the_interval() -> None:
    assert step_of([2.0, 2.5, 2.0, 3.0]) == 0.25
    assert step_of([0.1, 0.1]) == step_of([]) == math.inf
    assert step_of([1.0, 1.0 + 1e-7, 1.1]) == pytest.approx(0.1)
    pairs = made(10, 0.05, noise=0.001)
    fine, coarse = alone(pairs), alone(pairs, step=0.06)
    assert (fine.outcome, coarse.outcome) == ("more", "open")
    assert coarse.low == pytest.approx(fine.low - 0.06)
    # No number of pairs makes the clock finer.
    assert (alone(pairs, step=0.04, looks=False).outcome, coarse.needed) == ("more", math.inf)
    assert [alone(made(20, noise=0.02), step=step).needed < math.inf for step in (0.001, BOUND)] == [True, False]


def test_forecasts_name_the_pairs_that_four_of_five_trials_need() -> None:
    needed = [alone(made(10, 0.03, noise=0.05 * math.sqrt(2), seed=seed)).needed for seed in range(40)]
    assert 40 <= sorted(needed)[20] <= 200
    assert all(n % 10 == 0 for n in needed if n < math.inf)
    scatter = scatter_of(made(1000, 0.03, noise=0.02))
    assert scatter == pytest.approx(0.02, rel=0.1)
    chances = [chance_of(effect, scatter, minimum=BOUND, pairs=20) for effect in (0.0, 0.012, 0.03, 0.1)]
    assert chances == sorted(chances)
    assert chances[-1] > 0.99
    assert chance_of(0.0, 0.005, minimum=BOUND, pairs=20) > 0.9
