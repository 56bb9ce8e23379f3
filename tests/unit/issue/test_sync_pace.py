from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from logbook_agent.issue.pace import Pace, with_max_wait
from logbook_agent.model.errors import RateLimited, Unreachable

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
    assert caught.value.message == "the next request has to wait 51 min 41 s, and --max-wait allows 0 s"
    assert caught.value.cause == ("the host allows 500 writes in 60 min; what is left to do is kept")
    assert caught.value.hint == (
        "at 11:43:00 UTC (in 51 min 41 s): logbook sync; or wait for it: logbook sync --max-wait 52m"
    )
    assert caught.value.wait_s == 3101


def test_a_long_pause_of_ones_own_is_told_and_not_counted(time: Time) -> None:
    pace = time.pace(max_wait_s=0, pause_s=8)
    starts(time, pace, 2)
    assert time.said == [(0, "waiting 8 s, until 10:43:08 UTC: writes are sent 8 s apart")]


def test_a_refusal_waits_as_long_as_the_server_asks(time: Time) -> None:
    pace = time.pace()
    assert time.took(lambda: pace.back_off(refused(7))) == 7
    assert time.said == [(0, "waiting 7 s, until 10:43:07 UTC: the host limits the rate")]
    assert pace.waited_s == 7


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
    cause = "the host limits the rate"
    assert time.said == [
        (0, f"waiting 95 s, until 10:44:35 UTC: {cause}"),
        (30, f"still waiting, 65 s to go: {cause}"),
        (60, f"still waiting, 35 s to go: {cause}"),
    ]
    assert max(time.slices) <= 1


def test_five_seconds_are_silent(time: Time) -> None:
    time.pace().back_off(refused(5))
    assert time.said == []
    time.pace().back_off(refused(5.1))
    assert [line for _, line in time.said] == ["waiting 6 s, until 10:43:11 UTC: the host limits the rate"]


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
    assert caught.value.message == (
        "the next request has to wait 40 s, and --max-wait allows 100 s, of which 61 s are used up"
    )
    assert caught.value.cause == "the host limits the rate; what is left to do is kept"
    assert caught.value.hint == ("at 10:44:41 UTC (in 40 s): logbook sync; or wait for it: logbook sync --max-wait 2m")
    pace.back_off(refused(39))
    assert pace.waited_s == 100


def test_a_wait_into_another_day_names_the_day(time: Time) -> None:
    with pytest.raises(RateLimited) as caught:
        time.pace().back_off(refused(86400))
    assert caught.value.hint.startswith("at 2026-02-11 10:43 UTC (in 24 h 00 min): logbook sync")


@pytest.mark.parametrize("asked", [float("inf"), 1e300])
def test_a_wait_for_ever_is_refused(time: Time, asked: float) -> None:
    with pytest.raises(RateLimited, match="--max-wait allows 15 min"):
        time.pace().back_off(refused(asked))


def test_lost_answers_wait_longer_and_longer(time: Time) -> None:
    pace = time.pace()
    assert [time.took(pace.unsure) for _ in range(7)] == [1, 2, 4, 8, 16, 30, 30]
    assert time.said[0][1] == "waiting 8 s, until 10:43:15 UTC: the host gave no answer"
    pace.succeeded()
    assert time.took(pace.unsure) == 1


def test_a_host_that_never_answers(time: Time) -> None:
    pace = time.pace(max_wait_s=10)
    for _ in range(3):
        pace.unsure()
    with pytest.raises(Unreachable) as caught:
        pace.unsure()
    assert time.now == 1007
    assert caught.value.cause == "the host gave no answer; what is left to do is kept"


def test_ctrl_c_ends_a_wait(time: Time) -> None:
    def sleep(seconds: float) -> None:
        time.sleep(seconds)
        if time.now > 1010:
            raise KeyboardInterrupt

    pace = Pace(clock=lambda: time.now, sleep=sleep, say=time.say)
    with pytest.raises(KeyboardInterrupt):
        pace.back_off(refused(600))
    assert time.now == 1011


@pytest.mark.slow
def test_with_the_real_clock(time: Time) -> None:
    pace = Pace(say=time.say, pause_s=0.05)
    pace.before_write()
    pace.before_write()
    pace.back_off(refused(0))
    with pytest.raises(RateLimited) as caught:
        pace.back_off(refused(10**6))
    assert re.match(r"at \d{4}-\d\d-\d\d \d\d:\d\d UTC \(in 277 h 46 min\): logbook sync", caught.value.hint)


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("logbook sync", "logbook sync --max-wait 16m"),
        ("logbook close --conclusion 'a -- b' --json", "logbook close --conclusion 'a -- b' --json --max-wait 16m"),
        ("logbook sync --max-wait 1m", "logbook sync --max-wait 1m --max-wait 16m"),
        ("logbook ci --base main -- python bench.py", "logbook ci --base main --max-wait 16m -- python bench.py"),
    ],
)
def test_a_longer_wait_stands_where_it_is_an_option(typed: str, hint: str) -> None:
    assert with_max_wait(typed, 16) == hint
