"""One comment on a pull request, whatever happens on the way: pushes, forks, lost answers, two jobs at once."""

from __future__ import annotations

import re

import pytest

from tests.contract.issue.gate.gate_support import Job
from tests.emulator import faults

pytestmark = pytest.mark.slow

TITLE = "### Benchmark of command: base and head are the same code"


def body(job: Job) -> str:
    [comment] = job.comments
    text: str = comment["body"]
    return text


def test_a_push_updates_the_comment_in_place(job: Job) -> None:
    answer = job.run()
    assert answer.code == 0, answer.err
    assert f"comment posted: {job.github.web}/{job.repo}/" in answer.out
    [first] = job.comments
    marker, title, *_ = first["body"].split("\n")
    assert re.fullmatch("<!-- .*run=1001[.]1.* -->", marker)
    assert title == TITLE
    head = job.push()
    assert "comment updated" in job.run().out
    [second] = job.comments
    assert second["id"] == first["id"]
    assert head in second["body"]
    assert "run=1002.1" in second["body"]


def test_the_target_branch_has_moved(job: Job) -> None:
    """It is compared with where the head left it, and the comment stays the one there is."""
    left = job.git("rev-parse", "main")
    job.run()
    job.git("checkout", "-q", "main")
    job.git("commit", "-q", "--allow-empty", "-m", "Meanwhile")
    moved = job.git("rev-parse", "main")
    job.git("checkout", "-q", "pr")
    answer = job.run("--json", "--", "python3", "bench.py")
    assert (answer.data["base"], answer.data["comment"]["written"]) == (left, "updated")
    job.git("merge", "-q", "main")
    assert job.run("--json", "--", "python3", "bench.py").data["base"] == moved
    assert moved in body(job)


def test_a_fork_has_a_token_that_may_not_write(job: Job) -> None:
    job.github.rules.add("POST", "/comments$", faults.forbidden("Resource not accessible by integration"))
    answer = job.run(fork=True)
    assert answer.code == 0, answer.err
    assert "fork" in answer.err
    assert job.comments == []
    assert job.summary.startswith(TITLE)
    assert answer.out.startswith(TITLE), "without a comment it is printed"
    assert job.output["outcome"] == "same-code"
    assert job.output["comment-url"] == ""


def test_a_job_without_a_token(job: Job) -> None:
    answer = job.run(fork=True, token=None)
    assert answer.code == 0, answer.err
    assert "no token for 127.0.0.1:" in answer.err
    assert job.summary.startswith(TITLE)
    assert not any(r.is_write for r in job.github.requests)


def test_two_jobs_at_once_leave_one_comment(job: Job) -> None:
    """The other job posts between the look and the post of this one."""
    job.run()
    [posted] = job.comments
    other = posted["body"]
    job.github.delete_comment(job.repo, posted["id"])

    def post_too(_: faults.Request) -> None:
        rule.times = 0
        job.github.comment_as("ada", job.repo, job.number, other)

    head = job.push()
    rule = job.github.rules.add("POST", "/comments$", faults.also(post_too), times=1)
    assert job.run().code == 0
    assert head in body(job), "the later run has the last word"
    # A job that was started earlier and ends now does not take it back.
    answer = job.run("--json", "--", "python3", "bench.py", run=900)
    assert answer.data["comment"]["written"] == "overtaken"
    assert "run=1002.1" in body(job)


def test_a_copy_of_the_marker_by_somebody_else_is_left_alone(job: Job) -> None:
    job.run()
    copy = job.github.comment_as("mallory", job.repo, job.number, body(job))
    [comment, _] = job.comments
    job.github.delete_comment(job.repo, comment["id"])
    before = job.comments[0]["body"]
    head = job.push()
    assert job.run().code == 0
    first, second = job.comments
    assert (first["id"], first["body"]) == (copy, before)
    assert head in second["body"]


def test_a_comment_that_a_person_edited_follows_the_next_push(job: Job) -> None:
    job.run()
    [comment] = job.comments
    job.github.edit_comment_as("ada", job.repo, comment["id"], comment["body"] + "\n\nI like it.")
    job.push()
    job.run()
    assert "I like it" not in body(job)


@pytest.mark.parametrize("applied", [True, False])
@pytest.mark.parametrize("fault", [faults.dropped, faults.bad_gateway])
@pytest.mark.sample(2)
def test_a_reply_that_is_lost_makes_no_second_comment(job: Job, fault: faults.Fault, applied: bool) -> None:
    rule = job.github.rules.add("POST", "/comments$", fault(applied=applied), times=1)  # type: ignore[operator]
    answer = job.run()
    assert answer.code == 0, answer.err
    assert rule.met == 1
    assert body(job).split("\n")[1] == TITLE
    rule = job.github.rules.add("PATCH", "/comments/", fault(applied=applied), times=1)  # type: ignore[operator]
    head = job.push()
    job.run()
    assert head in body(job)


def test_the_token_of_a_job_has_no_user(job: Job) -> None:
    job.github.rules.add("GET", "/user$", faults.forbidden("Resource not accessible by integration"))
    job.run()
    head = job.push()
    assert "comment updated" in job.run().out
    assert head in body(job)


def test_a_host_that_does_not_answer_changes_no_verdict(job: Job) -> None:
    job.github.rules.add("GET", "/comments$", faults.server_error())
    answer = job.run()
    assert answer.code == 0
    assert job.comments == []
    assert job.summary.startswith(TITLE)


def test_outside_of_a_job_the_comment_is_printed(job: Job) -> None:
    answer = job.cli("ci", "--base", "main", "--root", str(job.away / "record"), "--", "python3", "bench.py")
    assert answer.code == 0, answer.err
    assert answer.out.startswith(TITLE)
    answer = job.run("--dry-run", "--", "python3", "bench.py")
    assert answer.out.startswith(TITLE)
    assert job.comments == []
    assert "<!--" not in answer.out, "the marker is for the host alone"
