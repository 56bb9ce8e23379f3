"""`logbook close`: the end is written down here first, and told once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conftest import FixedClock
from tests.contract.issue.pushed_support import refused
from tests.contract.issue.sync_support import Bench
from tests.emulator import faults
from tests.seams import marking

pytestmark = pytest.mark.slow

END = ["--conclusion", "Int8 loses.\n\nAt **every** shape.", "--limitation", "one CPU", "--next", "try a TPU"]


def close(bench: Bench, *args: str) -> Any:
    return bench.ok("close", "--json", *args).data


def finals(bench: Bench) -> list[str]:
    found = []
    for comment in bench.comments:
        marked = marking.read_comment(comment["body"], bench.key)
        if marked is not None and marked.kind == marking.FINAL:
            found.append(str(comment["body"]))
    return found


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
    assert closing is not None
    assert closing.conclusion == "Int8 loses.\n\nAt **every** shape."
    assert (closing.limitations, closing.next_steps) == (("one CPU",), ("try a TPU",))
    view = told.book.view_path.read_text()
    conclusion = view[view.index("## Conclusion") :]
    for words in ("At **every** shape.", "- Closed: 2026-02-10 10:43", "  - one CPU", "  - try a TPU"):
        assert words in conclusion
    assert state(told) == ("closed", "completed")
    [final] = finals(told)
    for words in (
        "## Final summary",
        "At **every** shape.",
        "### Limitations\n\n- one CPU",
        "### Next steps\n\n- try a TPU",
    ):
        assert words in final
    assert told.comments[-1]["body"] == final
    assert "- **Closed** (2026-02-10 10:43)" in told.block
    assert "At **every** shape." in told.block.split("## Conclusion")[1]

    writes = len(told.github.writes)
    clock.tick()
    assert told.sync()["steps"] == []
    assert close(told)["sync"]["steps"] == []
    assert close(told, *END)["sync"]["steps"] == []
    assert len(told.github.writes) == writes


def test_who_opens_it_again_means_it(told: Bench) -> None:
    close(told, *END)
    reopen_as("bob", told)
    told.note("And yet")
    told.sync()
    close(told)
    assert state(told)[0] == "open"
    assert len(finals(told)) == 1
    # A new conclusion is a new end.
    close(told, "--conclusion", "Int8 loses for good.")
    assert state(told) == ("closed", "completed")
    [final] = finals(told)
    assert "Int8 loses for good." in final


def test_another_conclusion_says_everything_anew(told: Bench, clock: FixedClock) -> None:
    close(told, *END)
    clock.tick(5)
    data = close(told, "--conclusion", "It wins at batch 1.")
    last = told.comments[-1]["id"]
    assert [s["step"] for s in data["sync"]["steps"]] == [
        "write the block of the issue's body",
        f"edit comment {last}: final",
    ]
    closing = told.book.header.closing
    assert closing is not None
    assert (closing.conclusion, closing.limitations, closing.next_steps) == ("It wins at batch 1.", (), ())
    assert closing.at.startswith("2026-02-10T10:48")
    [final] = finals(told)
    assert "It wins at batch 1." in final
    assert "one CPU" not in final
    assert state(told)[0] == "closed"
    # Without a conclusion the rest is added to what stands.
    close(told, "--limitation", "small batches")
    closing = told.book.header.closing
    assert closing is not None
    assert (closing.conclusion, closing.limitations) == ("It wins at batch 1.", ("small batches",))
    close(told, "--next", "large batches")
    closing = told.book.header.closing
    assert closing is not None
    assert (closing.limitations, closing.next_steps) == (("small batches",), ("large batches",))


def test_reopened_and_closed_again(told: Bench, clock: FixedClock) -> None:
    close(told, *END)
    clock.tick()
    answer = told.ok("close", "--reopen", "--json")
    assert answer.data["closed"] is None
    assert f"open it there: {told.book.header.issue.url}" in json.loads(answer.out)["warnings"][0]  # type: ignore[union-attr]
    assert "## Conclusion" not in told.book.view_path.read_text()
    assert "## Conclusion" not in told.block
    assert "- **Open** since" in told.block
    assert state(told)[0] == "closed", "a person's decision"
    assert json.loads(told.ok("close", "--reopen", "--json").out)["warnings"] == []
    reopen_as("ada", told)
    refused(told, 2, "close")
    clock.tick()
    close(told, *END)
    assert state(told) == ("closed", "completed")
    assert len(finals(told)) == 1
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
    clock.tick()
    close(told, "--conclusion", "It wins at batch 2.")
    assert finals(told)[0] == first
    assert ["It wins at batch 2." in final for final in finals(told)] == [False, True]


def test_what_is_left_is_warned_about(folder: Any, told: Bench) -> None:
    told.ok("start", "left", "--prefix", "LEFT", "--stop", "no speed-up\nat any shape", "--stop", "two weeks")
    told.ok("-L", "left", "note", "--title", "Why")
    for n in range(7):
        told.ok("-L", "left", "plan", "--title", f"Plan {n}", "--command", "true")
    told.ok("-L", "left", "criteria", "--met", "2", "--evidence", "LEFT-000")
    answer = told.ok("-L", "left", "close", "--unmet", "--conclusion", "Nothing", "--json")
    assert answer.data["unmet_criteria"] == [1]
    assert json.loads(answer.out)["warnings"] == [
        "stop criterion 1 is not met: no speed-up at any shape",
        "not finished: LEFT-001, LEFT-002, LEFT-003, LEFT-004, LEFT-005 and 2 more",
    ]
    assert "warning: stop criterion 1 is not met" in told.ok("-L", "left", "close").err
    assert answer.data["sync"] is None, "it has no issue"


def test_what_is_not_met_is_found_before_anything_is_told(told: Bench) -> None:
    told.ok("criteria", "--add", "no speed-up at any shape")
    told.sync()
    requests, header = len(told.github.requests), told.book.header_path.read_bytes()
    for more in ((), ("--local",)):
        answer = told.cli("close", "--json", *END, *more)
        assert answer.code == 1
        assert answer.error["message"] == "stop criterion 1 is not met: no speed-up at any shape"
    assert len(told.github.requests) == requests
    assert told.book.header_path.read_bytes() == header
    assert state(told)[0] == "open"
    close(told, *END, "--unmet")
    assert state(told)[0] == "closed"
    close(told, "--conclusion", "Still so.")


def test_locally_first(told: Bench) -> None:
    requests = len(told.github.requests)
    assert close(told, *END, "--local")["sync"] is None
    assert len(told.github.requests) == requests
    assert told.book.header.closing is not None
    told.sync()
    assert state(told)[0] == "closed"
    assert len(finals(told)) == 1


def test_the_network_is_no_reason_not_to_close(told: Bench) -> None:
    told.github.rules.add(".*", ".", faults.dropped(applied=False))
    error = refused(told, 4, "close", *END)
    assert error["message"].startswith("moe is closed here, but the issue was not updated: ")
    assert "logbook close" in error["hint"]
    closing = told.book.header.closing
    assert closing is not None
    assert "## Conclusion" in told.book.view_path.read_text()
    told.github.rules.clear()
    assert state(told)[0] == "open"
    close(told)
    assert told.book.header.closing == closing, "typed again, it says the same"
    assert state(told)[0] == "closed"
    [final] = finals(told)
    assert "one CPU" in final
    told.github.rules.add(".*", ".", faults.unauthorized())
    assert refused(told, 4, "close", "--reopen")["message"].startswith("moe is open again here")
    assert told.book.header.closing is None


LOST = {"502": faults.bad_gateway(), "dropped": faults.dropped(), "500": faults.server_error()}


@pytest.mark.parametrize("fault", list(LOST.values()), ids=LOST)
@pytest.mark.parametrize(("method", "nth"), [("PATCH", 1), ("PATCH", 2), ("POST", 1)], ids=["block", "close", "final"])
@pytest.mark.sample(3)
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
        ([], "no conclusion"),
        (["--conclusion", ""], "no conclusion"),
        (["--conclusion", " \n "], "no conclusion"),
        (["--limitation", "x"], "no conclusion"),
        (["--conclusion", "@none.md"], "none.md"),
        (["--reopen", "--conclusion", "x"], "--reopen"),
        (["--conclusion", "x", "--max-wait", "soon"], "soon"),
    ],
)
def test_what_cannot_be_read(bench: Bench, words: list[str], names: str) -> None:
    before = bench.book.header_path.read_bytes()
    assert names in refused(bench, 2, "close", *words)["message"]
    assert bench.book.header_path.read_bytes() == before


def test_the_final_summary_follows_a_correction(told: Bench, clock: FixedClock) -> None:
    told.ok("criteria", "--add", "Fast", "--predicate", "target: {metric: tflops, at_least: 100}")
    told.ok("run", "--repeat", "8", "--", "echo", "RESULT tflops=100 topk=2")
    close(told, *END)
    assert "- [x] Fast" in finals(told)[0]
    clock.tick()
    told.ok("note", "--title", "The clock was wrong", "--supersedes", told.book.entry_ids()[-1])
    assert any(step["step"].endswith(": final") for step in told.sync()["steps"])
    assert "- [ ] Fast" in finals(told)[0]
    assert len(finals(told)) == 1
    assert told.sync()["steps"] == []
