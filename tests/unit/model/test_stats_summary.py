"""Summaries against hand-worked values and the standard library."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.model.stats import mean, median, noise_floor, standard_deviation


# (Two larger ones have a middle here, and none there: their sum is infinite.)
@given(st.lists(st.floats(-8e307, 8e307), min_size=1, max_size=20))
def test_is_the_median_of_the_standard_library(samples: list[float]) -> None:
    assert median(samples) == statistics.median(samples)


SIX = [3.1, 4.7, 1.2, 9.9, 5.5, 2.8]


def test_mean_and_spread() -> None:
    # numpy.std(ddof=1)
    assert standard_deviation(SIX) == pytest.approx(3.0309514457784816, rel=1e-14)
    # Summed one after the other this is 0.
    assert mean([1e100, 1.0, -1e100]) == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="needs two"):
        standard_deviation([1.0])
    with pytest.raises(ValueError, match="no samples"):
        mean([])


def test_noise_floor() -> None:
    # Medians 1, e^0.02, e^-0.02: a standard deviation of logarithms of 0.02.
    runs = [[1.0, 0.9, 1.1], [math.exp(0.02)], [math.exp(-0.02)] * 2]
    assert noise_floor(runs) == pytest.approx(0.02)
    assert noise_floor(runs[:1]) is None
    assert noise_floor([[1.0], [0.0]]) is None
