"""How long writes wait for one another, and for what a host asks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from logbook_agent.issue.pace import Pace
from logbook_agent.issue.refusals import wait_asked_s
from logbook_agent.model.errors import RateLimited

START = datetime(2026, 2, 10, 10, 43, tzinfo=UTC)


class Time:
    """A clock that only sleeping moves, and what was said when."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slices: list[float] = []
        self.said: list[tuple[float, str]] = []

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.slices.append(seconds)
        self.now += seconds

    def say(self, line: str) -> None:
        self.said.append((self.now - 1000, line))

    def pace(self, max_wait_s: float = 900, pause_s: float = 1.0) -> Pace:
        return Pace(
            clock=lambda: self.now,
            sleep=self.sleep,
            say=self.say,
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


def refused(wait_s: float | None = None) -> RateLimited:
    return RateLimited("the host limits the rate", wait_s=wait_s)


def test_writes_are_a_second_apart_and_the_first_waits_for_nothing(time: Time) -> None:
    pace = time.pace()
    assert time.took(pace.before_write) == 0
    assert time.took(pace.before_write) == 1
    time.now += 0.75
    assert time.took(pace.before_write) == 0.25
    time.now += 5
    assert time.took(pace.before_write) == 0
    assert (time.said, pace.waited_s) == ([], 0)


def starts(time: Time, pace: Pace, writes: int) -> list[float]:
    found = []
    for _ in range(writes):
        pace.before_write()
        found.append(time.now)
    return found


@pytest.mark.parametrize("pause_s", [0.0, 0.5, 1.0])
def test_never_more_than_80_in_a_minute_and_500_in_an_hour(time: Time, pause_s: float) -> None:
    found = starts(time, time.pace(max_wait_s=20_000, pause_s=pause_s), 1100)
    assert all(b - a >= pause_s for a, b in pairwise(found))
    assert all(found[i + 80] - found[i] >= 60 for i in range(len(found) - 80))
    assert all(found[i + 500] - found[i] >= 3600 for i in range(len(found) - 500))
    # And no slower than that.
    assert found[-1] - found[0] <= 2 * 3600 + 100


def test_the_pace_of_499_writes_is_a_second_each_and_no_wait(time: Time) -> None:
    pace = time.pace(max_wait_s=0)
    found = starts(time, pace, 500)
    assert found[-1] - found[0] == 499
    assert (time.said, pace.waited_s) == ([], 0)
    with pytest.raises(RateLimited) as caught:
        pace.before_write()
    assert caught.value.hint.startswith("at 11:43:00 UTC (in 51 min 41 s): logbook sync")
    assert caught.value.hint.endswith("logbook sync --max-wait 52m")
    assert caught.value.wait_s == 3101


def test_a_refusal_without_a_time_waits_a_minute_and_then_twice_as_long(time: Time) -> None:
    pace = time.pace(max_wait_s=10_000)
    assert [time.took(lambda: pace.back_off(refused())) for _ in range(4)] == [60, 120, 240, 480]
    pace.succeeded()
    assert time.took(lambda: pace.back_off(refused())) == 60


@pytest.mark.parametrize("asked", [0.0, -5.0, float("nan"), 0.3])
def test_a_server_that_asks_for_no_time_is_not_asked_in_a_tight_loop(time: Time, asked: float) -> None:
    pace = time.pace(max_wait_s=10_000)
    assert [time.took(lambda: pace.back_off(refused(asked))) for _ in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]


def test_long_waits_say_so_again_and_again(time: Time) -> None:
    time.pace().back_off(refused(95))
    assert [at for at, _ in time.said] == [0, 30, 60]
    assert max(time.slices) <= 1


def test_all_waits_together_have_one_bound(time: Time) -> None:
    pace = time.pace(max_wait_s=100)
    pace.back_off(refused(60))
    pace.unsure()
    pace.succeeded()
    with pytest.raises(RateLimited) as caught:
        pace.back_off(refused(39.5))
    # It is told at once; nobody waits for a wait that does not suffice.
    assert time.now == 1061
    assert caught.value.wait_s == 39.5
    pace.back_off(refused(39))
    assert pace.waited_s == 100


@pytest.mark.parametrize("asked", [float("inf"), 1e300])
def test_a_wait_for_ever_is_refused(time: Time, asked: float) -> None:
    with pytest.raises(RateLimited, match="--max-wait allows 15 min"):
        time.pace().back_off(refused(asked))


def test_lost_answers_wait_longer_and_longer(time: Time) -> None:
    pace = time.pace()
    assert [time.took(pace.unsure) for _ in range(7)] == [1, 2, 4, 8, 16, 30, 30]
    pace.succeeded()
    assert time.took(pace.unsure) == 1


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"date": "Tue, 10 Feb 2026 10:00:00 GMT"}, 90),  # by the clock of the server
        ({}, 30),
        ({"date": "Tue, 10 Feb 2026 11:00:00 GMT"}, 0),
    ],
)
def test_a_date_to_retry_after(headers: dict[str, str], wait_s: float) -> None:
    now = datetime(2026, 2, 10, 10, 1, tzinfo=UTC).timestamp()
    assert wait_asked_s(headers | {"retry-after": "Tue, 10 Feb 2026 10:01:30 GMT"}, now) == wait_s
