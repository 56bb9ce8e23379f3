"""How long writes wait for one another, and for what a host asks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from logbook_agent.issue.pace import Pace
from logbook_agent.model.errors import RateLimited

START = datetime(2026, 2, 10, 10, 43, tzinfo=UTC)


class Time:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def pace(self, max_wait_s: float = 900, pause_s: float = 1.0) -> Pace:
        return Pace(
            clock=lambda: self.now,
            sleep=self.sleep,
            say=lambda _: None,
            max_wait_s=max_wait_s,
            pause_s=pause_s,
            utc=lambda: START + timedelta(seconds=self.now - 1000),
        )

    def took(self, call: Callable[[], None]) -> float:
        before = self.now
        call()
        return self.now - before


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.mark.parametrize("pause_s", [0.0, 0.5, 1.0])
def test_never_more_than_80_in_a_minute_and_500_in_an_hour(time: Time, pause_s: float) -> None:
    pace, found = time.pace(max_wait_s=20_000, pause_s=pause_s), []
    for _ in range(1100):
        pace.before_write()
        found.append(time.now)
    assert all(b - a >= pause_s for a, b in pairwise(found))
    assert all(found[i + 80] - found[i] >= 60 for i in range(len(found) - 80))
    assert all(found[i + 500] - found[i] >= 3600 for i in range(len(found) - 500))
    # And no slower than that.
    assert found[-1] - found[0] <= 2 * 3600 + 100


def test_a_wait_that_does_not_suffice_is_refused_with_the_command_that_does(time: Time) -> None:
    pace = time.pace(max_wait_s=0)
    for _ in range(500):
        pace.before_write()
    with pytest.raises(RateLimited) as caught:
        pace.before_write()
    assert caught.value.hint.startswith("at 11:43:00 UTC (in 51 min 41 s): logbook sync")
    assert caught.value.hint.endswith("logbook sync --max-wait 52m")
    for asked in (float("inf"), 1e300):
        with pytest.raises(RateLimited, match="--max-wait allows 15 min"):
            time.pace().back_off(RateLimited("the host limits the rate", wait_s=asked))


@pytest.mark.parametrize("asked", [0.0, -5.0, float("nan"), 0.3])
def test_a_server_that_asks_for_no_time_is_not_asked_in_a_tight_loop(time: Time, asked: float) -> None:
    pace, refused = time.pace(max_wait_s=10_000), RateLimited("the host limits the rate", wait_s=asked)
    assert [time.took(lambda: pace.back_off(refused)) for _ in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
