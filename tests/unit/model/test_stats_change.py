"""Series whose level changed on the way, and those that only look like it."""

from __future__ import annotations

import itertools
import random

import pytest

from logbook_agent.model.stats import FEWEST_RUNS, level_change


def test_too_few_runs_say_nothing() -> None:
    """Seven are not asked. Of eight and nine no split is as rare as one in a hundred."""
    for size in range(10):
        assert level_change([1.0] * (size // 2) + [2.0] * (size - size // 2)) is None
    assert FEWEST_RUNS == 8
    assert level_change([1.0, 1.1, 1.2, 1.3, 1.4, 2.0, 2.1, 2.2, 2.3, 2.4]) is not None


def test_what_is_no_step() -> None:
    assert level_change([1.0] * 30) is None
    assert level_change([1.0, 2.0] * 15) is None
    # One run that is far off moves no level.
    assert level_change([1.0 + i % 3 / 100 for i in range(20)] + [99.0]) is None


def _part(series: object, size: int, times: int, seed: int) -> float:
    draw = random.Random(f"{seed} {size}")
    return sum(level_change(series(draw, size)) is not None for _ in range(times)) / times  # type: ignore[operator]


def _noise(draw: random.Random, size: int) -> list[float]:
    return [draw.gauss(0, 1) for _ in range(size)]


def _coarse(draw: random.Random, size: int) -> list[float]:
    return [float(round(draw.gauss(0, 1))) for _ in range(size)]


def _remembering(draw: random.Random, size: int) -> list[float]:
    return list(itertools.accumulate(_noise(draw, size), lambda last, new: 0.9 * last + new))


@pytest.mark.parametrize("size", [8, 10, 12, 15, 20, 25, 30, 40, 41, 60, 100])
@pytest.mark.parametrize("noise", [_noise, _coarse])
@pytest.mark.slow
@pytest.mark.sample(4)
def test_it_is_silent_in_noise(noise: object, size: int) -> None:
    """In at most 1%, give or take three standard errors of 4,000 series; of all lengths together see below."""
    assert _part(noise, size, 4_000, seed=2) <= 0.01 + 3 * 0.0016


def test_it_speaks_of_steps_and_of_noise_that_remembers() -> None:
    def stepped(draw: random.Random, size: int) -> list[float]:
        return [draw.gauss(0 if at < size / 2 else 3, 1) for at in range(size)]

    assert _part(stepped, 20, 300, seed=4) > 0.95
    assert _part(_remembering, 40, 300, seed=5) > 0.2
