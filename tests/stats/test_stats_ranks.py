"""Rank tests against values worked by hand and by SciPy 1.17.1."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.model.stats.ranks import (
    doubled_ranks,
    mann_whitney,
    missing_paired,
    missing_unpaired,
    signed_rank,
    smallest_p_paired,
    smallest_p_unpaired,
)

few = st.lists(st.integers(0, 5).map(float), min_size=1, max_size=5)


@pytest.mark.parametrize(
    ("base", "other", "expected"),
    [
        # All of one side below the other: 2 of the 70 ways to choose 4 of 8.
        ([1.1, 2.2, 3.3, 4.4], [5.5, 6.6, 7.7, 8.8], 2 / 70),
        # scipy.stats.mannwhitneyu(method="exact")
        ([1.0, 4.0, 2.5, 7.0], [3.0, 6.0, 9.0, 8.0], 0.2),
        # With ties: scipy.stats.permutation_test of the rank sum over all ways
        ([1, 1, 2, 2, 3], [2, 3, 3, 4, 4, 4], 0.02813852813852814),
        ([10, 10, 11], [10, 12, 12, 13, 11], 0.21428571428571427),
        ([5, 5, 5, 5], [5, 5, 5, 6], 1.0),
        # All equal: nothing differs.
        ([3, 3, 3, 3], [3, 3, 3, 3], 1.0),
    ],
)
def test_mann_whitney_is_exact_for_few_runs(base: list[float], other: list[float], expected: float) -> None:
    assert mann_whitney(base, other) == pytest.approx(expected, rel=1e-12)
    assert mann_whitney(other, base) == pytest.approx(expected, rel=1e-12)


def test_mann_whitney_of_many_runs_is_the_normal_approximation() -> None:
    base = [float(7 * i % 25) for i in range(25)]
    other = [float(11 * i % 29) + 3 for i in range(24)]
    # scipy.stats.mannwhitneyu(method="asymptotic"): ties and continuity corrected
    assert mann_whitney(base, other) == pytest.approx(0.04226181342651936, rel=1e-12)
    assert mann_whitney([1.0] * 30, [1.0] * 30) == 1.0


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        # scipy.stats.wilcoxon(method="exact")
        ([0.8, -0.2, 1.1, 0.4, 0.9, 1.3], 0.0625),
        ([1, -2, 3, 4, -5, 6, 7, 8], 0.1484375),
        ([6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75], 0.041259765625),
        # By hand, all signs counted: zeros are ranked and carry none (Pratt); ties share ranks.
        ([0, 0, 1, 1, 2, -1, 3], 8 / 32),
        ([2, 2, 2, 2, -2, 2, 2], 16 / 128),
        ([0, 0, 0], 1.0),
    ],
)
def test_signed_rank_is_exact_for_few_pairs(differences: list[float], expected: float) -> None:
    assert signed_rank(differences) == pytest.approx(expected, rel=1e-12)
    assert signed_rank([-x for x in differences]) == pytest.approx(expected, rel=1e-12)


def test_signed_rank_of_many_pairs_is_the_normal_approximation() -> None:
    # scipy.stats.wilcoxon(method="approx", correction=True)
    assert signed_rank([i * 37 % 50 - 12.3 for i in range(50)]) == pytest.approx(6.250481223685573e-06, rel=1e-9)


@given(few, few)
def test_every_way_to_fall_is_counted(base: list[float], other: list[float]) -> None:
    """The polynomial against the plain loop over all ways to choose a side."""
    ranks = doubled_ranks([*base, *other])
    centre = len(base) * sum(ranks) / len(ranks)
    ways = [abs(sum(way) - centre) for way in itertools.combinations(ranks, len(base))]
    reached = abs(sum(ranks[: len(base)]) - centre)
    # Sums that differ do so by 1 or more times 1 / the number of runs; rounding by far less.
    assert mann_whitney(base, other) == pytest.approx(sum(w >= reached - 1e-9 for w in ways) / len(ways))


def test_a_minimum_of_runs_is_needed() -> None:
    assert [missing_unpaired(n, n, 0.05) for n in (1, 2, 3, 4, 9)] == [3, 2, 1, 0, 0]
    assert smallest_p_unpaired(3, 3) > 0.05 >= smallest_p_unpaired(4, 4)
    assert [missing_paired(n, 0.05) for n in (0, 1, 5, 6, 7)] == [6, 5, 1, 0, 0]
    assert smallest_p_paired(5) > 0.05 >= smallest_p_paired(6)
    with pytest.raises(ValueError, match="alpha"):
        missing_paired(1, 0.0)


def test_what_the_guard_promises_can_be_reached() -> None:
    assert mann_whitney([1, 2, 3, 4], [5, 6, 7, 8]) == smallest_p_unpaired(4, 4)
    assert signed_rank([1, 2, 3, 4, 5, 6]) == smallest_p_paired(6)


def test_nothing_cannot_be_tested() -> None:
    with pytest.raises(ValueError, match="side without runs"):
        mann_whitney([], [1.0])
    with pytest.raises(ValueError, match="no pairs"):
        signed_rank([])
