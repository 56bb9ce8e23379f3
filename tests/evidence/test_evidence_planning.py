"""How many pairs a question takes: from how far pairs scatter, never from which way they point."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.findings.evidence.planning import (
    FEWEST_PAIRS,
    is_futile,
    looks_of,
    pairs_for,
    scatter_of_pairs,
    smallest_effect,
)
from logbook_agent.findings.evidence.verdict import Verdict, judge
from logbook_agent.model.stats.ranks import missing_paired
from logbook_agent.model.stats.sequential import ALPHA, threshold


def test_the_fewest_pairs_are_those_that_can_reject_anything() -> None:
    assert FEWEST_PAIRS == 6
    for looks in range(1, 20):
        fewest = missing_paired(0, threshold(looks))
        assert 2 / 2**fewest <= threshold(looks) < 2 / 2 ** (fewest - 1)
        assert pairs_for(0.5, 0.0001, alpha=threshold(looks)) == fewest


@pytest.mark.parametrize(("effect", "scatter"), [(0.01, 0.01), (0.02, 0.03), (0.05, 0.05)])
def test_so_many_pairs_find_the_effect_in_four_of_five_experiments(effect: float, scatter: float) -> None:
    """Of 200 with a chance of 80%, fewer than 141 or more than 178 come up in one of 1,000."""
    pairs, chance, found = pairs_for(effect, scatter), random.Random(1), 0
    for _ in range(200):
        other = [[math.exp(math.log1p(effect) + chance.gauss(0, scatter))] for _ in range(pairs)]
        turns = [bool(n % 2) for n in range(pairs)]
        judged = judge([[1.0]] * pairs, other, direction="max", other_first=turns, minimum_effect=0)
        found += judged.verdict is Verdict.BENEFICIAL
    assert 141 <= found <= 178


@given(st.floats(0.001, 0.5), st.floats(0.0001, 0.5), st.integers(1, 20))
def test_pairs_and_effect_are_two_sides_of_one_rule(effect: float, scatter: float, looks: int) -> None:
    alpha = threshold(looks)
    pairs = pairs_for(effect, scatter, alpha=alpha)
    assert smallest_effect(pairs, scatter, alpha=alpha) <= effect * (1 + 1e-9)
    assert pairs_for(effect, scatter, alpha=threshold(looks + 1)) >= pairs
    assert pairs_for(effect, 2 * scatter, alpha=alpha) >= pairs
    assert pairs_for(2 * effect, scatter, alpha=alpha) <= pairs


def test_a_budget_is_futile_that_holds_less_than_a_quarter_of_what_it_takes() -> None:
    alpha = threshold(looks_of(20))
    needed = pairs_for(0.01, 0.05, alpha=alpha)
    assert needed > 80
    assert is_futile(0.01, 0.05, needed // 4 - 1, alpha=alpha)
    assert not is_futile(0.01, 0.05, -(-needed // 4), alpha=alpha)
    assert is_futile(0.01, 0.0, 1, alpha=ALPHA), "without any noise it takes six"
    assert not is_futile(0.01, 0.0, 2, alpha=ALPHA)
    assert not is_futile(0, 1.0, 1, alpha=ALPHA), "no effect is too small to ask for"


def test_the_scatter_says_nothing_of_the_way_the_pairs_point() -> None:
    chance = random.Random(3)
    logs = [chance.gauss(0, 0.02) for _ in range(10)]
    found = scatter_of_pairs(logs)
    assert found is not None
    assert scatter_of_pairs([x + 0.3 for x in logs]) == pytest.approx(found)
    assert scatter_of_pairs([-x for x in logs]) == pytest.approx(found)
    assert 0.01 < found < 0.04
    assert scatter_of_pairs(logs[:2]) is None
