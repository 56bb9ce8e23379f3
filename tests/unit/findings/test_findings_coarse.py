"""In which step values were printed."""

from __future__ import annotations

import pytest

from logbook_agent.findings.comparison.resolution import step_of

FULL = [0.123456789012345, 0.123956789012345, 0.122456789012345, 0.124456789012345]


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([0.12, 0.13, 0.11, 0.12, 0.12, 0.12, 0.11, 0.12], 0.01 / 0.12),
        ([12.5, 12.6, 12.5, 12.6], 0.1 / 12.55),
        ([100.0, 101.0, 102.0, 103.0], 1 / 101.5),
        ([7.0] * 6, 1 / 7),
        ([1024.5] * 6 + [900.25] * 6, 0.01 / 962.375),
        ([5 / 64] * 6 + [6 / 64] * 5, 0.000001 * 64 / 5),
        ([1 / 3] * 6, 0.0),
        ([*FULL, 0.12], 0.0),
        ([0.12, *FULL], 0.0),
        ([0.0, 0.0], 0.0),
        ([], 0.0),
    ],
)
def test_the_step_of_values(values: list[float], step: float) -> None:
    assert step_of(values) == pytest.approx(step)
    assert step_of(values[::-1]) == pytest.approx(step)
