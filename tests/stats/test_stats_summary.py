"""Summaries against hand-worked values, the standard library, and properties."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.stats import (
    Spread,
    arithmetic_mean,
    geometric_mean,
    mad,
    median,
    quantile,
    spread,
)

NUMBERS = st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=20)
POSITIVE = st.lists(st.floats(1e-6, 1e12), min_size=1, max_size=20)
SUMMARIES = [median, arithmetic_mean, geometric_mean, mad, spread, lambda x: quantile(x, 0.5)]


def test_worked_by_hand() -> None:
    samples = [3.0, 1.0, 2.0, 10.0]
    assert median(samples) == 2.5
    assert median([3.0, 1.0, 2.0]) == 2.0
    assert arithmetic_mean(samples) == 4.0
    assert geometric_mean([1.0, 100.0]) == pytest.approx(10.0)
    assert quantile(samples, 0.25) == 1.75  # h = 0.75: 1 + 0.75 * (2 - 1)
    assert quantile(samples, 0.0) == 1.0
    assert quantile(samples, 1.0) == 10.0
    assert mad(samples) == 1.0  # deviations 0.5, 1.5, 0.5, 7.5
    assert spread(samples) == Spread(low=1.0, high=10.0)


def test_gains_of_the_null_routing_seed() -> None:
    gains = [920847 / 858766, 821075 / 765115, 383765 / 354834]
    assert f"{arithmetic_mean(gains) - 1:+.2%}" == "+7.57%"
    assert f"{geometric_mean(gains) - 1:+.2%}" == "+7.56%"


@pytest.mark.parametrize("summary", SUMMARIES)
def test_nothing_has_no_summary(summary: object) -> None:
    with pytest.raises(ValueError, match="no samples"):
        summary([])  # type: ignore[operator]


def test_nan_stays_visible() -> None:
    samples = [1.0, math.nan, 3.0]
    for value in (median(samples), arithmetic_mean(samples), geometric_mean(samples), mad(samples)):
        assert math.isnan(value)
    assert math.isnan(quantile(samples, 0.9))
    assert math.isnan(spread(samples).low)


def test_infinite_samples() -> None:
    assert median([1.0, math.inf, math.inf]) == math.inf
    assert quantile([math.inf, math.inf], 0.5) == math.inf
    assert math.isnan(arithmetic_mean([math.inf, -math.inf]))


@pytest.mark.parametrize("bad", [0.0, -2.0])
def test_geometric_mean_refuses_what_has_no_logarithm(bad: float) -> None:
    with pytest.raises(ValueError, match=f"positive samples, got {bad!r}"):
        geometric_mean([1.0, bad])


@pytest.mark.parametrize("q", [-0.1, 1.1, math.nan])
def test_quantile_outside_its_range(q: float) -> None:
    with pytest.raises(ValueError, match="0 <= q <= 1"):
        quantile([1.0], q)


@given(NUMBERS)
def test_agrees_with_the_standard_library(samples: list[float]) -> None:
    close = pytest.approx(statistics.median(samples), rel=1e-12, abs=1e-12)
    assert median(samples) == close
    assert quantile(samples, 0.5) == close
    assert arithmetic_mean(samples) == pytest.approx(statistics.fmean(samples))
    if len(samples) > 1:
        quarters = statistics.quantiles(samples, n=4, method="inclusive")
        assert [quantile(samples, q) for q in (0.25, 0.5, 0.75)] == pytest.approx(quarters, abs=1e-3)


@given(POSITIVE, st.floats(1e-3, 1e3))
def test_geometric_mean_follows_scale(samples: list[float], scale: float) -> None:
    assert geometric_mean(samples) == pytest.approx(statistics.geometric_mean(samples))
    assert geometric_mean([x * scale for x in samples]) == pytest.approx(scale * geometric_mean(samples))


@given(NUMBERS, st.floats(0, 1))
def test_quantiles_stay_inside_the_spread(samples: list[float], q: float) -> None:
    low, high = min(samples), max(samples)
    slack = 1e-9 * max(abs(low), abs(high))
    assert low - slack <= quantile(samples, q) <= high + slack
    assert spread(samples) == Spread(low=low, high=high)
