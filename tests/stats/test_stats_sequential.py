"""Thresholds for results that are looked at on the way: that of one look, Pocock's, and what they hold in noise."""

from __future__ import annotations

import itertools
import math
import random

import pytest
import scipy.stats  # type: ignore[import-untyped]

from logbook_agent.findings.evidence.planning import is_look, looks_of
from logbook_agent.model.stats.ranks import signed_rank
from logbook_agent.model.stats.sequential import ALPHA, threshold

# S. J. Pocock (1977), table 1; C. Jennison and B. W. Turnbull (2000), table 2.1: the critical values of Z.
CRITICAL = {
    1: 1.960,
    2: 2.178,
    3: 2.289,
    4: 2.361,
    5: 2.413,
    6: 2.453,
    7: 2.485,
    8: 2.512,
    9: 2.535,
    10: 2.555,
    20: 2.672,
}


@pytest.mark.parametrize("looks", CRITICAL)
def test_they_are_those_of_the_tables(looks: int) -> None:
    assert threshold(looks) == pytest.approx(2 * scipy.stats.norm.sf(CRITICAL[looks]), abs=5e-5)


def test_each_look_asks_for_more_and_none_is_free() -> None:
    found = [threshold(looks) for looks in range(1, 200)]
    assert found[0] == ALPHA
    assert all(later < before for before, later in itertools.pairwise(found))
    assert all(p >= ALPHA / looks for looks, p in enumerate(found, start=1)), "Bonferroni would ask for more"
    for none in (0, -1):
        with pytest.raises(ValueError, match="once or more"):
            threshold(none)


@pytest.mark.parametrize("looks", [2, 5, 10, 20])
def test_in_noise_five_in_a_hundred_cross_them(looks: int) -> None:
    """Sums of normal values, looked at after equal parts: 2,000 with a chance of 5% and 130 come up in one of 1,000."""
    limit = scipy.stats.norm.isf(threshold(looks) / 2)
    chance, crossed = random.Random(looks), 0
    for _ in range(2000):
        total = 0.0
        for look in range(1, looks + 1):
            total += chance.gauss(0, 1)
            if abs(total) / math.sqrt(look) >= limit:
                crossed += 1
                break
    assert 70 < crossed < 130


def test_an_ab_is_looked_at_as_often_as_it_says() -> None:
    for most in range(1, 80):
        assert sum(is_look(pairs, most) for pairs in range(1, most + 1)) == looks_of(most)
    assert [pairs for pairs in range(1, 16) if is_look(pairs, 15)] == [8, 10, 12, 14, 15]
    assert [pairs for pairs in range(1, 6) if is_look(pairs, 5)] == [5]


@pytest.mark.parametrize(("first", "more", "plans"), [(6, 6, 8), (10, 10, 6), (20, 20, 4), (6, 1, 20)])
@pytest.mark.slow
def test_whoever_goes_on_after_the_first_plan_claims_hardly_more(first: int, more: int, plans: int) -> None:
    """Fixed numbers of pairs, each judged when it is whole, until one claims something: of 1,500 experiments without an
    effect 5% are 75, and more than 102 come up in one of 1,000 times."""
    chance, claims = random.Random(2026), 0
    for _ in range(1500):
        logs: list[float] = []
        for plan in range(1, plans + 1):
            logs += [chance.gauss(0, 1) for _ in range(first if plan == 1 else more)]
            if signed_rank(logs) <= threshold(plan, plan):
                claims += 1
                break
    assert claims <= 102
    with pytest.raises(ValueError, match="looked at once or more"):
        threshold(0, 2)


def test_a_later_plan_is_held_against_much_less_and_ever_less() -> None:
    assert threshold(2, 2) == pytest.approx(0.01 * threshold(2) / 0.05)
    found = [threshold(plans, plans) for plans in range(1, 40)]
    assert found == sorted(found, reverse=True)
    assert 0 < threshold(1, 10**6) < 1e-300
