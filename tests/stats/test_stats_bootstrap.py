"""The counted bootstrap against all resamples, one by one, and against quantiles of SciPy 1.17.1."""

from __future__ import annotations

import itertools
import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.model.stats.bootstrap import (
    expanded_tail,
    interval_of_median,
    interval_of_ratio,
    median_weights,
    resampled_medians,
)
from logbook_agent.model.stats.distributions import normal_quantile_above, normal_tail, t_quantile_above, t_tail

positive = st.floats(0.5, 2.0)


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6])
def test_every_resample_is_counted(size: int) -> None:
    values = [1.0, 2.5, 3.0, 7.0, 11.0, 19.0][:size]
    drawn: dict[float, int] = {}
    for resample in itertools.product(values, repeat=size):
        middle = statistics.median(resample)
        drawn[middle] = drawn.get(middle, 0) + 1
    counted: dict[float, float] = {}
    for middle, weight in resampled_medians(values):
        counted[middle] = counted.get(middle, 0.0) + weight
    assert counted == {middle: pytest.approx(count / size**size) for middle, count in drawn.items()}


@pytest.mark.parametrize("size", [10, 11, 60, 101])
def test_weights_add_up(size: int) -> None:
    assert math.fsum(w for _, _, w in median_weights(size)) == pytest.approx(1, abs=1e-6)


def test_interval_of_a_ratio_is_the_percentile_over_all_resamples() -> None:
    base, other = [1.0, 1.1, 1.3], [2.0, 2.1, 2.6, 2.9]
    tail = expanded_tail(0.1, 3, 5)
    ratios = sorted(
        (statistics.median(b) / statistics.median(a), 1)
        for a in itertools.product(base, repeat=3)
        for b in itertools.product(other, repeat=4)
    )
    low = ratios[math.ceil(tail * len(ratios)) - 1][0]
    high = ratios[-math.ceil(tail * len(ratios))][0]
    assert interval_of_ratio(base, other, 0.8) == pytest.approx((low, high), rel=1e-12)


def test_equal_values_have_an_interval_of_one_point() -> None:
    assert interval_of_ratio([4.0] * 4, [3.0] * 5, 0.95) == pytest.approx((0.75, 0.75), rel=1e-15)
    assert interval_of_median([0.5] * 6, 0.95) == (0.5, 0.5)
    # One run of ten that differs is not seen, and leaves no trace in the last digits.
    assert interval_of_ratio([1.0] * 9 + [1.1], [1.0] * 9 + [3.0], 0.95) == (1.0, 1.0)


@given(st.lists(positive, min_size=2, max_size=9), st.lists(positive, min_size=2, max_size=9))
def test_swapped_sides_have_the_inverse_interval(base: list[float], other: list[float]) -> None:
    low, high = interval_of_ratio(base, other, 0.95)
    assert interval_of_ratio(other, base, 0.95) == pytest.approx((1 / high, 1 / low), rel=1e-9)
    # Up to what the bisection leaves: a 4,096th of a range that is less than log 16 here.
    assert low <= statistics.median(other) / statistics.median(base) * 1.001
    assert high >= statistics.median(other) / statistics.median(base) / 1.001


@given(st.lists(positive, min_size=2, max_size=9), st.floats(0.01, 100))
def test_the_unit_does_not_matter(values: list[float], scale: float) -> None:
    scaled = interval_of_ratio([1.0, 1.5, 1.2], [v * scale for v in values], 0.9)
    plain = interval_of_ratio([1.0, 1.5, 1.2], values, 0.9)
    assert [x / scale for x in scaled] == pytest.approx(plain, rel=1e-3)


def test_tails_and_quantiles() -> None:
    # scipy.stats.norm.sf, t.sf, norm.isf, t.isf
    assert [normal_tail(z) for z in (0, 1, 5)] == pytest.approx([0.5, 0.15865525393145707, 2.866515718791933e-07])
    found = [t_tail(1, 1), t_tail(2.5, 2), t_tail(3, 4), t_tail(2.262157162740992, 9), t_tail(1.5, 18)]
    expected = [0.25, 0.06480586011075541, 0.019970984035859413, 0.02500000000233785, 0.07547522609213368]
    assert found == pytest.approx(expected, rel=1e-9)
    assert normal_quantile_above(0.025) == pytest.approx(1.9599639845400545, rel=1e-12)
    found = [t_quantile_above(p, f) for p, f in ((0.025, 1), (0.025, 5), (0.025, 9), (0.0005, 18))]
    expected = [12.706204736174705, 2.5705818356363155, 2.2621571627982053, 3.9216458250851605]
    assert found == pytest.approx(expected, rel=1e-9)
    with pytest.raises(ValueError, match="tail"):
        normal_quantile_above(0.7)
