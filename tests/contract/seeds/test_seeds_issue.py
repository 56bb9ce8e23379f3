"""What the seeds do in GitHub issues: an experiment issue with updates, links both ways, permalinks to pushed commits,
a snapshot tag, and the closing summary."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.contract.issue.pushed_support import Pushed
from tests.contract.issue.sync_support import Bench

pytestmark = pytest.mark.slow

VIEW = "logbooks/moe.md"
MEASURE = ("--", "echo", "RESULT topk=2 tflops=239.150")


def issue_of(bench: Bench, answer: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    number = int(str(answer["issue"]).rpartition("/")[2])
    return number, bench.github.issue(bench.repo, number)


def comments(bench: Bench, number: int) -> list[str]:
    return bench.github.bodies(bench.repo, number)


def test_an_experiment_issue_is_opened_and_told_of_each_entry_once(bench: Bench) -> None:
    """EP benchmark, kickoff and Links: an issue for the thread, with its state in the body, and an update for what is
    new."""
    bench.ok("run", "--title", "Compact EP", "--interpretation", "a clear win", *MEASURE)
    number, issue = issue_of(bench, bench.sync("--create"))
    assert "find out" in issue["body"]
    [update] = comments(bench, number)
    for fact in ("MOE-000", "Compact EP", "239.150", "a clear win"):
        assert fact in update
    assert bench.sync()["steps"] == []
    bench.note("Hosts gone")
    bench.sync()
    assert ["MOE-001" in text for text in comments(bench, number)] == [False, True]
    assert issue["html_url"] in (bench.folder / VIEW).read_text()


def test_issues_link_to_each_other(bench: Bench, other: tuple[str, int, str]) -> None:
    """All documents, Links: the prior issue stands in the logbook under its label, and in the issue, where GitHub makes
    a reference back of it; nothing is posted there."""
    repo, number, url = other
    bench.note()
    bench.sync("--create")
    bench.ok("link", url, "--as", "Prior issue")
    assert f"- Prior issue: {url}" in (bench.folder / VIEW).read_text()
    answer = bench.sync()
    assert bench.github.bodies(repo, number) == []
    _, issue = issue_of(bench, answer)
    assert url in issue["body"]
    assert bench.sync()["steps"] == []


def test_links_lead_to_the_pushed_commit(pushed: Pushed) -> None:
    """All documents, Links and Code refs: entries are linked at the line where they stand in the commit that was
    pushed, and stay there when the logbook grows."""
    bench = pushed.bench
    bench.ok("run", "--title", "Compact EP", *MEASURE)
    sha = pushed.publish()
    number, issue = issue_of(bench, bench.sync("--create"))
    pattern = re.escape(pushed.blob(sha, VIEW)) + r"\?plain=1#L(\d+)"
    for text in (issue["body"], *comments(bench, number)):
        [line, *_] = re.findall(pattern, text)
        assert any("MOE-000" in pushed.line(sha, VIEW, int(line) + n) for n in (0, 1))
    bench.note("Later")
    later = pushed.publish()
    bench.sync()
    first, second = comments(bench, number)
    assert pushed.blob(sha, VIEW) in first
    assert pushed.blob(later, VIEW) in second


def test_a_snapshot_is_a_tag_with_what_reproduces_it(pushed: Pushed) -> None:
    """EP benchmark, Links, and Grug 12:27: an annotated tag at the pushed commit, its address in the logbook, and a
    comment with commit, commands and results; refused while something is not pushed."""
    bench = pushed.bench
    bench.ok("run", "--title", "Compact EP", "--env", "XLA_FLAGS=--xla_x=1", *MEASURE)
    pushed.commit()
    assert bench.cli("snapshot", "moe-hillclimb-harness-20260209").code != 0
    sha = pushed.push()
    number, _ = issue_of(bench, bench.sync("--create"))
    data = bench.ok("snapshot", "moe-hillclimb-harness-20260209", "--json").data
    tag = bench.github.tag(bench.repo, "moe-hillclimb-harness-20260209")
    assert (tag["object"]["sha"], tag["object"]["type"]) == (sha, "commit")
    assert data["url"] == f"{bench.github.web}/{bench.repo}/tree/moe-hillclimb-harness-20260209"
    assert data["url"] in (bench.folder / VIEW).read_text()
    comment = comments(bench, number)[-1]
    for fact in (data["url"], sha, "XLA_FLAGS=--xla_x=1", "239.150", "MOE-000", "echo 'RESULT topk=2"):
        assert fact in comment


def test_a_thread_is_closed_with_a_summary(bench: Bench) -> None:
    """All documents, Stop Criteria; EP benchmark 18:00: closed once its criteria are met, with conclusion, limits and
    what comes next, in the logbook and in the issue."""
    bench.ok("criteria", "--add", "It is known whether EP pays.")
    entry = bench.note("Tables")
    number, _ = issue_of(bench, bench.sync("--create"))
    end = ("--conclusion", "EP pays.", "--limitation", "one host", "--next", "larger top-k on small shapes")
    assert bench.cli("close", *end).code == 1
    bench.ok("criteria", "--met", "1", "--evidence", entry)
    bench.ok("close", *end)
    issue = bench.github.issue(bench.repo, number)
    assert (issue["state"], issue["state_reason"]) == ("closed", "completed")
    conclusion = (bench.folder / VIEW).read_text().partition("## Conclusion")[2]
    for text in (comments(bench, number)[-1], conclusion):
        assert all(words in text for words in ("EP pays.", "one host", "larger top-k on small shapes"))
