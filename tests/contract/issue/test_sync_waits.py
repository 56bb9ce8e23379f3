"""How long a sync waits, for what, and that it says so; and that it can be stopped at any time."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from itertools import pairwise

import pytest

from tests.contract.issue.sync_support import PEOPLE, WRITE, Bench
from tests.emulator import faults
from tests.emulator.faults import Fault, Reply, Request, Stall
from tests.seams import set_github_pace, set_size

pytestmark = pytest.mark.slow


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
        (faults.secondary_limit(5), 5, 5, None),
        (faults.primary_limit(300), 298, 300, "waiting "),
        (faults.too_many(), 60, 60, "waiting 60 s, until "),
    ],
    ids=["429", "403_short", "primary", "429_unsaid"],
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


def test_waits_grow_while_nobody_says_how_long(thirty: Bench) -> None:
    thirty.adopt()
    thirty.github.rules.add("POST", "/comments$", faults.secondary_limit(), times=3)
    err = thirty.ok("sync").err
    assert re.findall(r"^waiting ([^,]*),", err, re.MULTILINE) == ["60 s", "2 min", "4 min"]
    assert sum(thirty.time.waits) == 60 + 120 + 240


@pytest.mark.parametrize("max_wait", ["1s", "119s", "4m", "15m", "2h"])
@pytest.mark.sample(2)
def test_all_waits_together_have_a_bound(thirty: Bench, max_wait: str) -> None:
    """Also where reads, writes and lost answers take turns."""
    thirty.adopt()
    for nth in range(2, 30, 3):
        thirty.github.rules.add(".*", "", faults.too_many(45), nth=nth, times=1)
        thirty.github.rules.add(".*", "", faults.bad_gateway(applied=False), nth=nth + 1, times=1)
    answer = thirty.cli("sync", "--max-wait", max_wait)
    bound = {"s": 1, "m": 60, "h": 3600}[max_wait[-1]] * int(max_wait[:-1])
    assert sum(thirty.time.waits) <= bound
    assert answer.code == (0 if bound >= 900 else 4)
    if answer.code:
        assert "logbook sync --max-wait" in answer.err
    thirty.github.rules.clear()
    thirty.sync()
    thirty.settled(thirty.book.entry_ids(), people=PEOPLE)


def test_writes_are_a_second_apart(thirty: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    set_github_pace(monkeypatch, pause_s=1)
    found = write_times(thirty)
    answer = thirty.ok("sync", "--create")
    assert len(found) == 4
    assert all(b - a >= 1 for a, b in pairwise(found)), found
    assert found[-1] - found[0] == 3
    # A second is no wait that people are told of.
    assert "waiting" not in answer.err


def test_never_more_than_80_writes_in_a_minute(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    set_size(monkeypatch, "entries of an update", 1)
    ids = bench.entries(82)
    bench.adopt()
    found = write_times(bench)
    err = bench.ok("sync").err
    assert len(found) == 83
    assert all(b - a >= 60 for a, b in zip(found, found[80:], strict=False))
    assert "waiting 60 s" in err
    assert "80 writes" in err
    assert bench.told() == ids
    assert bench.sync()["steps"] == []


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
    ("path", "writes", "applied"), [("/comments$", "1 write", True), ("/issues$", "0 writes", False)]
)
@pytest.mark.sample(1)
def test_interrupted_while_no_answer_comes(thirty: Bench, path: str, writes: str, applied: bool) -> None:
    rule = thirty.github.rules.add("POST", path, Stall(applied=applied))
    process = thirty.start("sync", "--create", "--json")
    until = time.monotonic() + 20
    while not rule.met:
        assert time.monotonic() < until
        time.sleep(0.01)
    err = interrupted(process)
    assert writes in err
    assert "logbook sync" in err
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
    assert "2 writes" in interrupted(process)
    thirty.github.rules.clear()
    thirty.sync()
    thirty.settled(thirty.book.entry_ids())


def test_a_slow_answer_is_told_of(thirty: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    set_size(monkeypatch, "silence while GitHub does not answer, s", 0.1)
    thirty.adopt()
    thirty.github.rules.add("POST", "/comments$", faults.slow(0.35), times=1)
    lines = [line for line in thirty.ok("sync").err.splitlines() if line.startswith("waiting")]
    assert 1 < len(lines) < 5
    assert all(thirty.github.host in line for line in lines)
    thirty.settled(thirty.book.entry_ids(), people=PEOPLE)
