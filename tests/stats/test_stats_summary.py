"""Summaries against hand-worked values and the standard library."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.stats import median


def test_worked_by_hand() -> None:
    assert median([3.0, 1.0, 2.0, 10.0]) == 2.5
    assert median([3.0, 1.0, 2.0]) == 2.0
    assert median([1.0, math.inf, math.inf]) == math.inf


def test_nothing_has_no_median() -> None:
    with pytest.raises(ValueError, match="no samples"):
        median([])


def test_nan_stays_visible() -> None:
    assert math.isnan(median([1.0, math.nan, 3.0]))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_is_the_median_of_the_standard_library(samples: list[float]) -> None:
    assert median(samples) == statistics.median(samples)
