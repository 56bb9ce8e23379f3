"""The Hodges-Lehmann estimate and its interval: against SciPy, and as the inversion of the signed-rank test."""

from __future__ import annotations

import math
import random
from itertools import combinations_with_replacement

import pytest
import scipy.stats  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.model.stats import median
from logbook_agent.model.stats.pseudomedian import central_spread, interval_of_pseudomedian, pseudomedian
from logbook_agent.model.stats.ranks import signed_rank

# Whole numbers of thousandths: shifts and mirrors are exact, and ties come up.
values = st.lists(st.integers(-1000, 1000).map(lambda n: n / 1024), min_size=1, max_size=25)
LEVELS = (0.95, 0.971, 0.987, 0.8)


def sample(size: int, seed: int = 1) -> list[float]:
    chance = random.Random(seed)
    return [chance.gauss(0, 0.05) for _ in range(size)]


def means(of: list[float]) -> list[float]:
    return [(a + b) / 2 for a, b in combinations_with_replacement(of, 2)]


@given(values)
def test_it_is_the_median_of_the_means_of_all_pairs(of: list[float]) -> None:
    assert pseudomedian(of) == pytest.approx(median(means(of)))


@pytest.mark.parametrize("size", [6, 7, 10, 15, 20, 40, 60, 61, 90])
@pytest.mark.parametrize("level", LEVELS)
def test_the_interval_is_that_of_the_test_by_scipy(size: int, level: float) -> None:
    """A shift just inside each bound is not rejected by scipy's Wilcoxon, one just outside is."""
    if 2 / 2**size > 1 - level:
        assert interval_of_pseudomedian(sample(size), level) == (min(sample(size)), max(sample(size)))
        return
    of = sample(size, seed=size)
    low, high = interval_of_pseudomedian(of, level)
    # Beyond 60 values both are the normal approximation, with a correction of continuity in the bound.
    exact = size <= 60
    for bound, way in ((low, -1), (high, 1)):
        beside = min((abs(m - bound) for m in means(of) if m != bound), default=1.0) / 2
        inside, outside = bound - way * beside, bound + way * beside
        ps = [
            scipy.stats.wilcoxon(
                [x - shift for x in of], method="exact" if exact else "approx", correction=not exact
            ).pvalue
            for shift in (inside, outside)
        ]
        assert ps[1] <= 1 - level + (0 if exact else 0.002)
        assert ps[0] > 1 - level - (0 if exact else 0.002)


@given(st.lists(st.floats(-0.2, 0.2), min_size=6, max_size=20, unique=True), st.sampled_from(LEVELS))
def test_the_interval_holds_what_the_test_does_not_reject(of: list[float], level: float) -> None:
    """The test of this package, at the shift 0: rejected when, and only when, 0 lies outside or on a bound."""
    if 2 / 2 ** len(of) > 1 - level or any(abs(x) < 1e-9 for x in (*of, *means(of))):
        return
    if len({abs(x) for x in of}) < len(of):
        return
    low, high = interval_of_pseudomedian(of, level)
    assert (signed_rank(of) <= 1 - level) == (not low <= 0 <= high)


def test_the_coverage_is_at_least_the_level_and_near_it() -> None:
    """Every sign of every size is as likely: counted out for ten values with known sizes."""
    sizes = [1.0, 2.5, 3.7, 5.1, 6.6, 7.9, 9.2, 10.4, 12.3, 13.9]
    for level, tail in ((0.95, 0.04883), (0.98, 0.01953), (0.99, 0.00977)):
        missed = 0
        for signs in range(2**10):
            of = [size if signs >> at & 1 else -size for at, size in enumerate(sizes)]
            low, high = interval_of_pseudomedian(of, level)
            missed += not low <= 0 <= high
        assert missed / 2**10 == pytest.approx(tail, abs=1e-4), "scipy.stats.wilcoxon's largest p-value below 1 - level"


@given(values, st.integers(-500, 500))
def test_shifts_and_mirrors_go_through(of: list[float], thousandths: int) -> None:
    by = thousandths / 1024
    low, high = interval_of_pseudomedian(of, 0.95)
    assert low <= pseudomedian(of) <= high
    assert min(of) <= low <= high <= max(of)
    assert pseudomedian([x + by for x in of]) == pytest.approx(pseudomedian(of) + by)
    assert pseudomedian([-x for x in of]) == pytest.approx(-pseudomedian(of))
    assert interval_of_pseudomedian([-x for x in of], 0.95) == pytest.approx((-high, -low))
    assert interval_of_pseudomedian(of[::-1], 0.95) == (low, high)


def test_few_values_have_no_more_than_their_range() -> None:
    for size in range(1, 6):
        of = sample(size)
        assert interval_of_pseudomedian(of, 0.95) == (min(of), max(of))


def test_many_values_are_counted_as_few_are() -> None:
    """From 61 on the means are not written down: the estimate is the same."""
    of = sample(150)
    assert pseudomedian(of) == pytest.approx(median(means(of)), abs=1e-12)
    narrow, wide = (interval_of_pseudomedian(sample(n), 0.95) for n in (60, 61))
    assert narrow[1] - narrow[0] == pytest.approx(wide[1] - wide[0], rel=0.2)


def test_the_spread_is_that_of_normal_values_and_one_far_off_hardly_changes_it() -> None:
    found = [central_spread(sample(20, seed=n)) for n in range(300)]
    assert math.fsum(found) / 300 == pytest.approx(0.05, rel=0.1)
    of = sample(20)
    assert central_spread([*of[1:], 100.0]) < 2 * central_spread(of)
    assert central_spread([0.01] * 5) == 0
