"""Whatever befalls a sync, once the fault has cleared and it is run again, all is told once and nothing twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeAlias

import pytest

from tests.contract.issue.sync_support import PEOPLE, WRITE, Bench
from tests.emulator import faults
from tests.emulator.faults import Fault, Reply, Request, Stall

pytestmark = pytest.mark.slow

Made: TypeAlias = Callable[[], Fault | Stall]

# Refused for now, and not applied; how long the first wait is at least.
LIMITS: dict[str, tuple[Made, float]] = {
    "secondary": (faults.secondary_limit, 60),
    "secondary_later": (lambda: faults.secondary_limit(7), 7),
    "too_many": (faults.too_many, 60),
    "too_many_later": (lambda: faults.too_many(7), 7),
    # The reset is in whole seconds, and the second has begun.
    "primary": (lambda: faults.primary_limit(40), 38),
}
# No answer, or none that says anything; whether the write was applied is part of the name.
LOST: dict[str, Made] = {
    "500_before": faults.server_error,
    "500_after": lambda: faults.server_error(applied=True),
    "502_after": faults.bad_gateway,
    "drop_before": lambda: faults.dropped(applied=False),
    "drop_after": faults.dropped,
    "unreadable_after": faults.unreadable,
}
STALLS: dict[str, Made] = {"stall_before": lambda: Stall(applied=False), "stall_after": Stall}
MADE: dict[str, Made] = {name: made for name, (made, _) in LIMITS.items()} | LOST | STALLS
# Ends at the first fault.
HURRIED = ("--create", "--max-wait", "0.1s")


def prepared(bench: Bench, adopted: bool, name: str) -> tuple[list[str], str]:
    """The entries, and what people wrote in the issue that they are told in."""
    if adopted:
        bench.adopt()
    return bench.book.entry_ids(), PEOPLE if adopted else ""


# A stall takes a second.
@pytest.mark.parametrize(
    ("name", "adopted"),
    [
        *((name, True) for name in (*LIMITS, *LOST)),
        *((name, False) for name in ("secondary", "primary", "500_before", "502_after", "drop_after")),
        ("stall_before", False),
        ("stall_after", True),
    ],
)
@pytest.mark.sample(2)
def test_a_sync_that_ends_at_every_write_in_turn(thirty: Bench, name: str, adopted: bool) -> None:
    """Each run meets one fault, at the first write that no run before has made, and gives up."""
    ids, people = prepared(thirty, adopted, name)
    applied = name.endswith("_after")
    # The comments are written alike.
    for at in range(1, 5 if adopted and name not in STALLS else 3):
        rule = thirty.github.rules.add(WRITE, "", MADE[name](), nth=1 if applied or at == 1 else 2, times=1)
        before = len(thirty.github.writes)
        thirty.fails("rate_limited" if name in LIMITS else "unreachable", *HURRIED)
        assert rule.met == 1
        sent = thirty.github.writes[before:]
        assert sent[-1].fault is not None, "a write after the one that failed"
        assert [w.applied for w in sent] == ([True] if applied else [True, False][-len(sent) :])
        thirty.github.rules.clear()
    thirty.sync("--create")
    assert sum(w.applied for w in thirty.github.writes) == 4
    thirty.settled(ids, people=people)


@pytest.mark.parametrize(
    ("name", "adopted"),
    [
        *((name, False) for name in (*LIMITS, *LOST)),
        *((name, True) for name in ("secondary", "500_before", "502_after")),
    ],
)
@pytest.mark.sample(2)
def test_one_sync_lives_through_a_fault_at_every_write(thirty: Bench, name: str, adopted: bool) -> None:
    ids, people = prepared(thirty, adopted, name)
    applied = name.endswith("_after")
    at = [1, 2, 3, 4] if applied else [1, 3, 5, 7]
    rules = [thirty.github.rules.add(WRITE, "", MADE[name](), nth=n, times=1) for n in at]
    steps = thirty.sync("--create")["steps"]
    assert len(steps) == 4, "what was written is told, also where the answer was lost"
    assert [rule.met for rule in rules] == [1] * 4
    assert len(thirty.github.writes) == (4 if applied else 8)
    assert sum(w.applied for w in thirty.github.writes) == 4
    if name in LIMITS:
        assert sum(thirty.time.waits) >= 4 * LIMITS[name][1]
    thirty.settled(ids, people=people)


READS = ["/user$", "/issues$", r"/issues/\d+$", "/comments$"]


@pytest.mark.parametrize("path", READS)
@pytest.mark.parametrize("name", ["drop_before", "unreadable_after", "primary"])
@pytest.mark.sample(2)
def test_faults_of_reads(thirty: Bench, name: str, path: str) -> None:
    ids = thirty.book.entry_ids()
    thirty.github.rules.add("GET", path, MADE[name]())
    error = thirty.fails("rate_limited" if name in LIMITS else "unreachable", "--create")
    assert len(thirty.github.writes) == (0 if path in READS[:2] else 1)
    assert "logbook sync --json --create" in error["hint"]
    assert sum(thirty.time.waits) <= 900 + 8 * 2.5
    thirty.github.rules.clear()
    # A fault that passes is waited for.
    for nth in (1, 5):
        thirty.github.rules.add("GET", "", MADE[name](), nth=nth, times=2)
    thirty.sync("--create", "--max-wait", "1h")
    thirty.settled(ids)


@pytest.mark.parametrize(
    ("applied", "adopted"),
    [(True, False), (False, False), (True, True)],
)
@pytest.mark.sample(1)
def test_a_process_that_is_killed_at_every_write_in_turn(thirty: Bench, applied: bool, adopted: bool) -> None:
    ids, people = prepared(thirty, adopted, "")
    for at in range(1, 3 if (applied, adopted) == (True, False) else 5):
        # What it is asked of comes much later than its start.
        running = []
        kill = faults.also(lambda _, running=running: running[0].kill(), applied=applied)
        rule = thirty.github.rules.add(WRITE, "", kill, nth=1 if applied or at == 1 else 2, times=1)
        running.append(thirty.start("sync", "--create"))
        out, err = running[0].communicate(timeout=30)
        assert (running[0].returncode, out, rule.met) == (-9, "", 1), err
        thirty.github.rules.clear()
    assert sum(w.applied for w in thirty.github.writes) == (at if applied else at - 1)
    thirty.sync("--create")
    assert sum(w.applied for w in thirty.github.writes) == 4
    thirty.settled(ids, people=people)


def test_a_write_that_takes_effect_after_it_was_given_up(thirty: Bench) -> None:
    """It was not there when the sync looked; of the two that are there later the older stays."""
    thirty.adopt()
    late: list[str] = []

    def kept(request: Request, _: Reply | None) -> None:
        late.append(json.loads(request.body)["body"])

    def applied(_: Request) -> None:
        thirty.github.comment_as("ada", thirty.repo, thirty.number, late.pop())

    thirty.github.rules.add("POST", "/comments$", Fault(name="late", applied=False, answers=kept), nth=2, times=1)
    thirty.github.rules.add("POST", "/comments$", faults.also(applied), nth=3, times=1)
    steps = [s["step"].split()[0] for s in thirty.sync()["steps"]]
    assert steps == ["add", "comment:", "comment:", "comment:", "delete"]
    thirty.settled(thirty.book.entry_ids(), people=PEOPLE)


@pytest.mark.parametrize("name", ["500_before", "502_after", "drop_before", "unreadable_after"])
@pytest.mark.sample(2)
def test_a_read_is_asked_three_times_at_most(bench: Bench, name: str) -> None:
    """Where the answer is lost; one that cannot be read will be the same."""
    bench.adopt()
    bench.github.rules.add("GET", "", MADE[name]())
    bench.fails("unreachable", "--max-wait", "0.1s")
    assert len(bench.github.requests) == (1 if name == "unreadable_after" else 3)


def test_a_text_that_was_not_stored_is_noticed(bench: Bench) -> None:
    bench.note()
    bench.adopt()
    bench.github.rules.add("PATCH", "", faults.old_body())
    bench.fails("rejected")
    assert [w.method for w in bench.github.writes] == ["PATCH"]


@pytest.mark.parametrize("name", ["secondary", "too_many_later", "primary", "500_before", "drop_before"])
@pytest.mark.sample(2)
def test_a_sync_that_meets_nothing_but_refusals_gives_up(thirty: Bench, name: str) -> None:
    """From the second write on, again and again."""
    ids, people = prepared(thirty, True, name)
    thirty.github.rules.add("POST", "/comments$", MADE[name]())
    error = thirty.fails("rate_limited" if name in LIMITS else "unreachable")
    assert "logbook sync" in error["hint"]
    assert 3 < len(thirty.github.writes) < 60
    assert sum(thirty.time.waits) <= 900
    assert thirty.updates == []
    thirty.github.rules.clear()
    thirty.sync()
    thirty.settled(ids, people=people)


@pytest.mark.parametrize("name", ["too_many_later", "500_before", "drop_after"])
@pytest.mark.sample(1)
def test_edits_and_deletions_that_fail_in_turn(thirty: Bench, name: str) -> None:
    """The block and a comment follow an entry that was edited, and a duplicate of a comment goes."""
    ids, people = prepared(thirty, True, name)
    thirty.sync()
    thirty.github.comment_as("ada", thirty.repo, thirty.number, thirty.comments[2]["body"])
    thirty.ok("edit", ids[0], "--title", "Another title")
    thirty.ok("status", "--summary", "So far, so good")
    applied = name.endswith("_after")
    start = len(thirty.github.writes)
    for at in range(1, 4):
        rule = thirty.github.rules.add(WRITE, "", MADE[name](), nth=1 if applied or at == 1 else 2, times=1)
        thirty.fails("rate_limited" if name in LIMITS else "unreachable", *HURRIED)
        assert rule.met == 1
        thirty.github.rules.clear()
    thirty.sync()
    assert [w.method for w in thirty.github.writes[start:] if w.applied] == ["PATCH", "PATCH", "DELETE"]
    assert "Another title" in thirty.comments[0]["body"]
    thirty.settled(ids, people=people)
