"""Each way in which a request can fail has its error, and a write is sent once."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from logbook_agent.issue import github as adapter
from logbook_agent.issue.github import READ_BACKOFF_S, GitHub
from logbook_agent.issue.refusals import wait_asked_s
from logbook_agent.model.errors import AnswerLost, RateLimited, Rejected, RemoteError, Unreachable
from tests.emulator import faults
from tests.emulator.faults import Fault, Stall
from tests.emulator.fixtures import Hub
from tests.unit.issue.adapter_support import LOST, TERMINAL, WRITES, Connect


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize(("fault", "kind"), TERMINAL, ids=lambda value: getattr(value, "name", ""))
@pytest.mark.sample(9)
def test_a_refused_write_is_sent_once_and_has_its_error(
    github: Hub, connect: Connect, write: Callable[[GitHub], object], fault: Fault, kind: type[RemoteError]
) -> None:
    repo = github.new_repo()
    github.open_issue_as("ada", repo)
    github.rules.add(".*", "", fault)
    with pytest.raises(kind) as caught:
        write(connect(repo))
    assert type(caught.value) is kind
    assert all((caught.value.message, caught.value.cause, caught.value.hint))
    assert len(github.requests) == 1


@pytest.mark.parametrize(("fault", "kind"), TERMINAL, ids=lambda value: getattr(value, "name", ""))
@pytest.mark.sample(4)
def test_a_refused_read_is_not_repeated(github: Hub, connect: Connect, fault: Fault, kind: type[RemoteError]) -> None:
    github.rules.add(".*", "", fault)
    with pytest.raises(kind):
        connect("ada/any").comments(1)
    assert len(github.requests) == 1


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("fault", LOST, ids=lambda fault: f"{fault.name}-{fault.applied}")
@pytest.mark.sample(7)
def test_a_write_whose_answer_is_lost_is_sent_once(
    github: Hub, connect: Connect, fault: Fault, write: Callable[[GitHub], object]
) -> None:
    repo = github.new_repo()
    github.open_issue_as("ada", repo)
    github.rules.add(".*", "", fault)
    with pytest.raises(AnswerLost) as caught:
        write(connect(repo))
    assert len(github.requests) == 1
    assert caught.value.hint == "it may or may not have been done; the next sync checks first: logbook sync"


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.slow
def test_a_stalled_write_is_given_up(github: Hub, connect: Connect, write: Callable[[GitHub], object]) -> None:
    repo = github.new_repo()
    github.open_issue_as("ada", repo)
    github.rules.add(".*", "", Stall())
    with pytest.raises(AnswerLost, match="did not confirm the request to") as caught:
        write(connect(repo, timeout_s=0.5))
    assert caught.value.cause == "none came within 1 s"
    assert len(github.writes) == 1


@pytest.mark.parametrize("fault", LOST, ids=lambda fault: f"{fault.name}-{fault.applied}")
def test_a_read_is_asked_three_times_at_most(github: Hub, connect: Connect, fault: Fault) -> None:
    repo = github.new_repo()
    github.open_issue_as("ada", repo)
    remote = connect(repo)
    is_asked_again = fault.name not in ("unreadable", "half")
    if is_asked_again:
        github.rules.add("GET", "", fault, times=2)
        assert remote.issue(1).number == 1
    github.rules.add("GET", "", fault)
    before = len(github.requests)
    with pytest.raises(Unreachable):
        remote.issue(1)
    assert len(github.requests) - before == (3 if is_asked_again else 1)


def test_a_read_is_asked_again_within_two_seconds(
    github: Hub, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the server asks: longer waits are the pace's, which says what it waits for."""
    repo = github.new_repo()
    github.open_issue_as("ada", repo)
    busy = faults.refusal(503, "Busy", {"retry-after": "3600"})
    github.rules.add("GET", "", Fault(name="busy", answers=lambda _request, _true: busy))
    waits: list[float] = []
    monkeypatch.setattr(adapter, "READ_BACKOFF_S", READ_BACKOFF_S)
    remote = connect(repo)
    monkeypatch.setattr("urllib3.util.retry.time.sleep", waits.append)
    with pytest.raises(Unreachable):
        remote.issue(1)
    assert len(github.requests) == 3
    assert 0 < sum(waits) <= 2


def test_where_nothing_listens_a_write_was_not_sent(connect: Connect) -> None:
    with pytest.raises(Unreachable, match="cannot be reached"):
        connect("ada/any", api="http://127.0.0.1:9/api/v3").post_comment(1, "text")


USED_UP = {"x-ratelimit-limit": "5000", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1"}


def dated(seconds: float) -> faults.Reply:
    until = datetime.now(UTC) + timedelta(seconds=seconds)
    return faults.refusal(429, "Too many requests", {"retry-after": format_datetime(until, usegmt=True)})


@pytest.mark.parametrize(
    ("fault", "wait_s"),
    [
        (faults.secondary_limit(), None),
        (faults.secondary_limit(7), 7.0),
        (faults.too_many(), None),
        (faults.too_many(90), 90.0),
        (Fault(name="dated", answers=lambda _request, _true: dated(40)), pytest.approx(40, abs=3)),
        (faults.primary_limit(120), pytest.approx(120, abs=3)),
        (faults.primary_limit(-120), 0.0),
        (Fault(name="unsaid", answers=lambda _request, _true: faults.refusal(403, "No", USED_UP)), 0.0),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_how_long_to_wait(github: Hub, connect: Connect, fault: Fault, wait_s: float | None) -> None:
    github.rules.add(".*", "", fault)
    began = time.monotonic()
    with pytest.raises(RateLimited) as caught:
        connect("ada/any").post_comment(1, "text")
    assert caught.value.wait_s == wait_s
    assert time.monotonic() - began < 5
    assert len(github.requests) == 1


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


def test_a_body_that_is_too_long_is_rejected_with_the_reason(github: Hub, connect: Connect) -> None:
    repo = github.new_repo()
    remote = connect(repo)
    remote.create_issue("One", "é" * 32_768, [])
    for write in (
        lambda: remote.edit_issue(1, body="é" * 32_769),
        lambda: remote.post_comment(1, "é" * 32_769),
        lambda: remote.create_issue("Two", "é" * 32_769, []),
    ):
        with pytest.raises(Rejected) as caught:
            write()
        assert caught.value.cause == "Validation Failed; Body is too long"


def test_a_body_that_was_not_stored_is_noticed(github: Hub, connect: Connect) -> None:
    repo = github.new_repo()
    github.open_issue_as("ada", repo, body="old")
    comment = github.comment_as("ada", repo, 1, "old")
    github.rules.add("PATCH", "", faults.old_body())
    remote = connect(repo)
    for write in (lambda: remote.edit_issue(1, body="new"), lambda: remote.edit_comment(comment, "new")):
        with pytest.raises(Rejected, match="not stored as sent"):
            write()
    with pytest.raises(Rejected, match="not stored as sent"):
        remote.edit_issue(1, state="closed")
