"""`logbook close`: the end is written down here first, and told once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conftest import FixedClock
from tests.contract.issue.pushed_support import refused
from tests.contract.issue.sync_support import Bench
from tests.emulator import faults

pytestmark = pytest.mark.slow

END = ["--conclusion", "Int8 loses.\n\nAt **every** shape.", "--limitation", "one CPU", "--next", "try a TPU"]


def close(bench: Bench, *args: str) -> Any:
    return bench.ok("close", "--json", *args).data


def finals(bench: Bench) -> list[str]:
    return [comment["body"] for comment in bench.of_kind("final")]


def state(bench: Bench) -> tuple[str, str | None]:
    issue = bench.github.issue(bench.repo, bench.number)
    return issue["state"], issue["state_reason"]


def reopen_as(user: str, bench: Bench) -> None:
    bench.github.ask("PATCH", f"/repos/{bench.repo}/issues/{bench.number}", {"state": "open"}, user=user)


@pytest.fixture
def told(bench: Bench, clock: FixedClock) -> Bench:
    """A note and its issue, up to date; the clock moves when a test says so."""
    bench.note()
    bench.sync("--create")
    return bench


def test_a_thread_is_closed_and_told_once(told: Bench, clock: FixedClock) -> None:
    data = close(told, *END)
    assert data["closed"].startswith("2026-02-10T10:43")
    assert [s["step"] for s in data["sync"]["steps"]][1:] == ["close the issue", "comment: final"]
    closing = told.book.header.closing
    assert closing.conclusion == "Int8 loses.\n\nAt **every** shape."
    assert (closing.limitations, closing.next_steps) == (["one CPU"], ["try a TPU"])
    assert state(told) == ("closed", "completed")
    [final] = finals(told)
    assert told.comments[-1]["body"] == final
    ends = [text.split("## Conclusion")[1] for text in (told.book.view_path.read_text(), told.block)]
    for text in (*ends, final):
        assert all(words in text for words in ("At **every** shape.", "- one CPU", "- try a TPU"))
    assert "2026-02-10 10:43" in ends[0]
    assert "- **Closed** (2026-02-10 10:43)" in told.block

    writes = len(told.github.writes)
    clock.tick()
    assert told.sync()["steps"] == []
    assert close(told)["sync"]["steps"] == []
    assert close(told, *END)["sync"]["steps"] == []
    assert len(told.github.writes) == writes


def test_another_conclusion_replaces_the_first(told: Bench, clock: FixedClock) -> None:
    close(told, *END)
    clock.tick(5)
    data = close(told, "--conclusion", "It wins at batch 1.")
    last = told.comments[-1]["id"]
    assert [s["step"] for s in data["sync"]["steps"]][1:] == [f"edit comment {last}: final"]
    closing = told.book.header.closing
    assert (closing.conclusion, closing.limitations, closing.next_steps) == ("It wins at batch 1.", None, None)
    assert closing.at.startswith("2026-02-10T10:48")
    [final] = finals(told)
    assert "It wins at batch 1." in final
    assert "one CPU" not in final
    # Without a conclusion the rest is added to what stands.
    close(told, "--limitation", "small batches")
    close(told, "--next", "large batches")
    closing = told.book.header.closing
    assert (closing.conclusion, closing.limitations) == ("It wins at batch 1.", ["small batches"])
    assert closing.next_steps == ["large batches"]


def test_reopened_and_closed_again(told: Bench, clock: FixedClock) -> None:
    close(told, *END)
    clock.tick()
    answer = told.ok("close", "--reopen", "--json")
    assert answer.data["closed"] is None
    assert told.book.header.issue.url in json.loads(answer.out)["warnings"][0]
    assert "## Conclusion" not in told.book.view_path.read_text() + told.block
    assert state(told)[0] == "closed", "a person's decision"
    assert json.loads(told.ok("close", "--reopen", "--json").out)["warnings"] == []
    reopen_as("bob", told)
    refused(told, 2, "close")
    clock.tick()
    close(told, *END)
    assert state(told) == ("closed", "completed")
    # Who opens it again means it; a new conclusion is a new end.
    reopen_as("bob", told)
    close(told)
    assert state(told)[0] == "open"
    close(told, "--conclusion", "Int8 loses for good.")
    assert state(told) == ("closed", "completed")
    [final] = finals(told)
    assert "Int8 loses for good." in final
    assert told.sync()["steps"] == []


def test_a_final_summary_that_a_person_edited_stays(told: Bench, clock: FixedClock) -> None:
    close(told, *END)
    [comment] = [c for c in told.comments if "## Final summary" in c["body"]]
    told.github.edit_comment_as("bob", told.repo, comment["id"], comment["body"] + "\n\nBob: not so fast.")
    clock.tick()
    close(told, "--conclusion", "It wins at batch 1.")
    first, second = finals(told)
    assert first.endswith("Bob: not so fast.")
    assert "It wins at batch 1." in second


def test_of_two_final_summaries_the_older_stays_and_follows_its_entries(told: Bench) -> None:
    """Two machines closed the thread at one time."""
    close(told, *END)
    [comment] = told.of_kind("final")
    told.github.comment_as("ada", told.repo, told.number, comment["body"])
    assert [step["step"].split()[0] for step in told.sync()["steps"]] == ["delete"]
    told.note("Late", "--supersedes", "MOE-000")
    told.sync()
    [same] = told.of_kind("final")
    assert (same["id"], same["body"] != comment["body"]) == (comment["id"], True)
    assert told.sync()["steps"] == []


def test_what_is_left_is_warned_about(bench: Bench) -> None:
    bench.ok("criteria", "--add", "no speed-up at any shape")
    bench.ok("criteria", "--add", "two weeks")
    bench.note("Why")
    for n in range(2):
        bench.ok("note", "--plan", "--title", f"Plan {n}", "--command", "true")
    bench.ok("criteria", "--met", "2", "--evidence", "MOE-000")
    answer = bench.ok("close", "--unmet", "--conclusion", "Nothing", "--json")
    assert answer.data["unmet_criteria"] == [1]
    unmet, unfinished = json.loads(answer.out)["warnings"]
    assert "no speed-up at any shape" in unmet
    assert "MOE-001, MOE-002" in unfinished
    assert answer.data["sync"] is None, "it has no issue"


def test_what_is_not_met_is_found_before_anything_is_told(told: Bench) -> None:
    told.ok("criteria", "--add", "no speed-up at any shape")
    told.sync()
    requests, header = len(told.github.requests), told.book.header_path.read_bytes()
    for more in ((), ("--local",)):
        answer = told.cli("close", "--json", *END, *more)
        assert answer.code == 1
        assert "no speed-up at any shape" in answer.error["message"]
    assert len(told.github.requests) == requests
    assert told.book.header_path.read_bytes() == header
    assert state(told)[0] == "open"
    assert close(told, *END, "--unmet", "--local")["sync"] is None
    assert len(told.github.requests) == requests
    told.sync()
    assert state(told)[0] == "closed"
    assert len(finals(told)) == 1


def test_the_network_is_no_reason_not_to_close(told: Bench) -> None:
    told.github.rules.add(".*", ".", faults.dropped(applied=False))
    assert "logbook close" in refused(told, 4, "close", *END)["hint"]
    closing = told.book.header.closing
    assert "## Conclusion" in told.book.view_path.read_text()
    told.github.rules.clear()
    assert state(told)[0] == "open"
    close(told)
    assert told.book.header.closing == closing, "typed again, it says the same"
    assert state(told)[0] == "closed"
    [final] = finals(told)
    assert "one CPU" in final
    told.github.rules.add(".*", ".", faults.unauthorized())
    refused(told, 4, "close", "--reopen")
    assert told.book.header.closing is None


LOST = {"502": faults.bad_gateway(), "dropped": faults.dropped(), "500": faults.server_error()}


@pytest.mark.parametrize("fault", list(LOST.values()), ids=LOST)
@pytest.mark.parametrize(("method", "nth"), [("PATCH", 1), ("PATCH", 2), ("POST", 1)], ids=["block", "close", "final"])
@pytest.mark.sample(2)
def test_a_lost_answer_closes_once(told: Bench, fault: faults.Fault, method: str, nth: int) -> None:
    rule = told.github.rules.add(method, "/issues", fault, nth=nth, times=1)
    close(told, *END)
    assert rule.met == 1
    assert state(told) == ("closed", "completed")
    assert len(finals(told)) == 1
    assert told.sync()["steps"] == []


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["--limitation", "x"], "conclusion"),
        (["--conclusion", " \n "], "conclusion"),
        (["--conclusion", "@none.md"], "none.md"),
        (["--reopen", "--conclusion", "x"], "--reopen"),
        (["--conclusion", "x", "--max-wait", "soon"], "soon"),
    ],
)
def test_what_cannot_be_read(bench: Bench, words: list[str], names: str) -> None:
    before = bench.book.header_path.read_bytes()
    assert names in refused(bench, 2, "close", *words)["message"]
    assert bench.book.header_path.read_bytes() == before
