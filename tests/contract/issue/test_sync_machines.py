"""Two syncs at once: of one clone only one runs, and of two machines each entry is told once in the end."""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from tests.contract.issue.sync_support import PEOPLE, Bench, Machine, other_machine
from tests.emulator import faults
from tests.emulator.faults import Stall
from tests.seams import set_github_pace

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _patient(thirty: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the other machine takes, an answer is waited for."""
    set_github_pace(monkeypatch, timeout_s=60)


# Requests of a sync of 30 entries into an adopted issue; more of them meet nothing.
REQUESTS = 10


def met(bench: Bench, path: str, number: int = 1) -> None:
    """Returns when so many writes have reached the proxy."""
    until = time.monotonic() + 20
    while sum(path in w.path for w in bench.github.writes) < number:
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_second_sync_of_a_clone_says_at_once_that_one_runs(thirty: Bench) -> None:
    thirty.adopt()
    stall = Stall()
    thirty.github.rules.add("POST", "/comments$", stall, times=1)
    first = thirty.start("sync", "--json")
    met(thirty, "/comments")
    before = len(thirty.github.requests)
    began = time.monotonic()
    error = thirty.fails("sync_running")
    assert time.monotonic() - began < 10
    assert str(first.pid) in error["message"]
    assert len(thirty.github.requests) == before
    # Nothing else is locked meanwhile, and looking is allowed.
    thirty.note("While it runs")
    assert thirty.ok("sync", "--dry-run", "--json").data["steps"]
    stall.release()
    _, err = first.communicate(timeout=30)
    assert first.returncode == 0, err
    thirty.sync()
    thirty.settled(thirty.book.entry_ids(), people=PEOPLE)


def interleave(bench: Bench, other: Machine, nth: int) -> bool:
    """The other machine's whole sync in the middle of a request of the first one's; whether it came to that."""
    done: list[Any] = []
    made = bench.github.rules.add(".*", "", faults.also(lambda _: done.append(other.sync())), nth=nth, times=1)
    answer = bench.cli("sync", "--json")
    bench.github.rules.clear()
    assert answer.code == 0, answer
    assert len(done) == made.met, "the other sync ended as it should"
    return made.met == 1


def converge(bench: Bench, other: Machine) -> None:
    """Each syncs once more."""
    other.sync()
    bench.sync()
    before = len(bench.github.writes)
    assert other.sync()["steps"] == []
    assert len(bench.github.writes) == before
    assert bench.book.header.issue.url == other.book.header.issue.url


@pytest.mark.parametrize(
    ("nth", "user"),
    [*((nth, "ada") for nth in range(1, REQUESTS + 1)), *((nth, "bob") for nth in range(2, REQUESTS, 2))],
)
@pytest.mark.sample(2)
def test_the_other_machine_syncs_in_the_middle_of_any_request(
    thirty: Bench, tmp_path: Path, nth: int, user: str
) -> None:
    """With one account, or two of the repository. Each answer is as it was before the other machine wrote."""
    thirty.adopt()
    thirty.github.let_in("bob", thirty.repo)
    other = other_machine(thirty, tmp_path / "other", user)
    assert interleave(thirty, other, nth)
    converge(thirty, other)
    thirty.settled(thirty.book.entry_ids(), people=PEOPLE, authors=("ada", "bob"))


def test_a_clock_that_is_ahead_hides_no_issue(thirty: Bench) -> None:
    """The list is of issues that changed since some time by the host's clock."""
    thirty.sync("--create")
    [since] = {parse_qs(r.query)["since"][0] for r in thirty.github.requests if "since=" in r.query}
    ahead = datetime.fromisoformat(thirty.book.header.opened) - datetime.fromisoformat(since)
    assert timedelta(hours=23) < ahead < timedelta(hours=25)
