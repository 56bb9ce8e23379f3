"""How long a sync waits, for what, and that it says so; and that it can be stopped at any time."""

from __future__ import annotations

import signal
import subprocess
import time
from itertools import pairwise

import pytest

from tests.emulator import faults
from tests.emulator.faults import Fault, Reply, Request, Stall
from tests.issue.sync_support import PEOPLE, WRITE, Bench

pytestmark = pytest.mark.slow


def configured(bench: Bench, old: str, new: str) -> None:
    config = bench.folder / "logbook.toml"
    assert old in config.read_text()
    config.write_text(config.read_text().replace(old, new))


def write_times(bench: Bench) -> list[float]:
    """Filled with the time at each write, by the clock of the sync."""
    found: list[float] = []

    def noted(_: Request, true: Reply | None) -> Reply | None:
        found.append(bench.time.now)
        return true

    bench.github.rules.add(WRITE, "", Fault(name="noted", applied=True, answers=noted))
    return found


@pytest.mark.parametrize(
    ("fault", "least", "most", "said"),
    [
        (faults.too_many(137), 137, 137, "waiting 2 min 17 s, until "),
        (faults.secondary_limit(6), 6, 6, "waiting 6 s, until "),
        (faults.secondary_limit(5), 5, 5, None),
        (faults.primary_limit(300), 298, 300, "waiting "),
        (faults.too_many(), 60, 60, "waiting 60 s, until "),
    ],
    ids=["429", "403", "403_short", "primary", "429_unsaid"],
)
def test_it_waits_as_long_as_it_was_asked_to(
    thirty: Bench, fault: Fault, least: float, most: float, said: str | None
) -> None:
    thirty.adopt()
    thirty.github.rules.add("POST", "/comments$", fault, nth=2, times=1)
    answer = thirty.ok("sync", "--json")
    assert least <= sum(thirty.time.waits) <= most
    lines = [line for line in answer.err.splitlines() if line.startswith("waiting")]
    assert [line.startswith(said or "") for line in lines] == ([] if said is None else [True])
    assert all(thirty.github.host in line for line in lines)
    thirty.settled(thirty.book.entry_ids(), people=PEOPLE)


def test_writes_are_a_second_apart_wherever_they_go(thirty: Bench) -> None:
    configured(thirty, "pause_s = 0", "pause_s = 1")
    for _ in range(3):
        there = thirty.github.new_repo()
        thirty.ok("link", f"{there}#{thirty.github.open_issue_as('bob', there)}", "--as", "Related issue")
    found = write_times(thirty)
    answer = thirty.ok("sync", "--create")
    assert len(found) == 4 + 3
    assert all(b - a >= 1 for a, b in pairwise(found)), found
    assert found[-1] - found[0] == 6
    # A second is no wait that people are told of.
    assert "waiting" not in answer.err


def interrupted(process: subprocess.Popen[str]) -> str:
    """What it said, when Ctrl-C ends it at once."""
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert time.monotonic() - began < 10
    assert process.returncode == 130, err
    assert (out, "Traceback" in err) == ("", False)
    return err


@pytest.mark.parametrize(
    ("path", "writes", "applied"),
    [
        ("/comments$", "1 write", True),
        ("/comments$", "1 write", False),
        ("/issues$", "0 writes", True),
    ],
)
@pytest.mark.sample(1)
def test_interrupted_while_no_answer_comes(thirty: Bench, path: str, writes: str, applied: bool) -> None:
    configured(thirty, "timeout_s = 2", "timeout_s = 30")
    rule = thirty.github.rules.add("POST", path, Stall(applied=applied))
    process = thirty.start("sync", "--create", "--json")
    until = time.monotonic() + 20
    while not rule.met:
        assert time.monotonic() < until
        time.sleep(0.01)
    time.sleep(0.2)
    assert f"interrupted after {writes}; the rest stays in the plan: logbook sync" in interrupted(process)
    thirty.github.rules.clear()
    thirty.sync("--create")
    thirty.settled(thirty.book.entry_ids())


def test_interrupted_in_a_wait(thirty: Bench) -> None:
    """It was told of before it began."""
    thirty.github.rules.add("POST", "/comments$", faults.too_many(300), nth=2)
    process = thirty.start("sync", "--create")
    assert process.stderr is not None
    while not process.stderr.readline().startswith("waiting 5 min, until "):
        assert process.poll() is None
    assert "interrupted after 2 writes; the rest stays in the plan: logbook sync" in interrupted(process)
    thirty.github.rules.clear()
    thirty.sync()
    thirty.settled(thirty.book.entry_ids())
