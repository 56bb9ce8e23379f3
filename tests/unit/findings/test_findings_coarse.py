"""In which step values were reported: printed digits, ticks and polls; never a slow run, and never a clear effect."""

from __future__ import annotations

import math

import numpy as np
import pytest

from logbook_agent.findings.comparison.resolution import step_of

FULL = [0.123456789012345, 0.123956789012345, 0.122456789012345, 0.124456789012345]


@pytest.mark.parametrize(
    ("base", "other", "step"),
    [
        ([0.12, 0.13, 0.11, 0.12], [0.12, 0.12, 0.11, 0.12], 0.01 / 0.12),
        ([12.5, 12.6], [12.5, 12.6], 0.1 / 12.55),
        ([100.0, 101.0, 102.0, 103.0], [100.0, 101.0, 102.0, 103.0], 1 / 101.5),
        ([(10 + n % 2) / 64 + n * 1e-8 for n in range(8)], [(10 + n % 2) / 64 for n in range(8)], 1 / 10.5),
        ([5 / 64 / 3] * 7 + [6 / 64 / 3], [5 / 64 / 3] * 8, 1 / 5),
        ([1.1003, 1.2007, 1.1004, 1.2003, 1.1007, 1.1001], [1.2004, 1.2006, 1.2001, 1.2005, 1.2003, 1.2002], 0.1 / 1.2),
        (FULL, FULL, 0.0),
        ([0.0, 0.0], [0.0, 0.0], 0.0),
        ([], [], 0.0),
    ],
)
def test_the_step_of_values(base: list[float], other: list[float], step: float) -> None:
    for is_timed in (True, False):
        assert step_of(base, other, is_timed=is_timed) == pytest.approx(step, rel=0.01)
        assert step_of(other[::-1], base[::-1], is_timed=is_timed) == pytest.approx(step, rel=0.01)


def test_a_time_that_is_always_the_same_may_be_one_tick_of_any_length() -> None:
    assert step_of([1 / 3] * 6, [1 / 3] * 6, is_timed=True) == math.inf
    assert step_of([0.1] * 6, [0.1] * 6, is_timed=True) == math.inf
    # Each side reads one tick: the two may be neighbours.
    assert step_of([1 / 3] * 6, [1 / 2] * 6, is_timed=True) == pytest.approx((1 / 2 - 1 / 3) / (5 / 12))
    # Whole numbers are counted, and one value alone shows nothing.
    assert step_of([7.0] * 6, [7.0] * 6, is_timed=True) == pytest.approx(1 / 7)
    assert step_of([1 / 3], [], is_timed=True) == 0.0


def test_what_no_clock_measured_is_as_exact_as_it_is_printed() -> None:
    """A loss or a size that is the same in every run differs between the sides by just what it says."""
    assert step_of([1024.5] * 6, [900.25] * 6, is_timed=False) == pytest.approx(0.01 / 962.375)
    assert step_of([1 / 3] * 6, [1 / 2] * 6, is_timed=False) == 0.0


def test_a_clear_effect_and_slow_runs_are_no_ticks() -> None:
    rng = np.random.default_rng(1)

    def runs(middle: float, spread: float) -> list[float]:
        return [float(value) for value in middle * np.exp(rng.normal(0, spread, 12))]

    for spread in (0.0005, 0.005):
        assert step_of(runs(1.0, spread), runs(1.1, spread), is_timed=True) == 0.0
        # One run in twelve at three times the time.
        assert step_of([*runs(1.0, spread)[:11], 3.0123], runs(1.0, spread), is_timed=True) == 0.0
    # Phases in which everything takes longer: the runs of a phase scatter.
    assert step_of(runs(1.0, 0.01) + runs(1.5, 0.01), runs(1.0, 0.01) + runs(1.5, 0.01), is_timed=True) == 0.0
