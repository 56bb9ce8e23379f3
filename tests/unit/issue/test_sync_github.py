"""What each method of the adapter does at the server, in how many requests, and what it tells."""

from __future__ import annotations

import logging
import threading
from datetime import UTC, datetime

import pytest

from logbook_agent.issue import github as adapter
from logbook_agent.model.errors import (
    BadToken,
    IssueLocked,
    IssueMissing,
    Rejected,
    RemoteError,
)
from tests.emulator import faults
from tests.emulator.faults import Fault
from tests.emulator.fixtures import Hub
from tests.unit.issue.adapter_support import LOST, TERMINAL, Connect, everything

SINCE = datetime(2020, 1, 1, tzinfo=UTC)


def log(hub: Hub) -> list[str]:
    return [f"{request.method} {request.path}" for request in hub.requests]


def test_an_issue_is_opened_read_changed_closed_and_reopened(github: Hub, connect: Connect) -> None:
    repo = github.new_repo()
    remote = connect(repo)
    made = remote.create_issue("MoE int8", "The body\n", ["perf", "moe"])
    assert (made.number, made.title, made.author, made.state) == (1, "MoE int8", "ada", "open")
    assert made.url == f"{github.web}/{repo}/issues/1"
    assert [label["name"] for label in github.issue(repo, 1)["labels"]] == ["perf", "moe"]
    github.edit_body_as("bob", repo, 1, "One\r\nTwo")
    assert remote.issue(1).body == "One\r\nTwo"
    assert remote.edit_issue(1, body="New").body == "New"
    assert (github.issue(repo, 1)["body"], github.issue(repo, 1)["title"]) == ("New", "MoE int8")
    assert remote.edit_issue(1, state="closed").state == "closed"
    assert (github.issue(repo, 1)["state_reason"], github.issue(repo, 1)["body"]) == ("completed", "New")
    assert remote.edit_issue(1, state="open").state == "open"
    github.lock(repo, 1)
    assert remote.issue(1).locked
    one = f"/repos/{repo}/issues/1"
    assert log(github) == [f"POST /repos/{repo}/issues", f"GET {one}", *[f"PATCH {one}"] * 3, f"GET {one}"]


def test_an_empty_body_may_be_null(github: Hub, connect: Connect) -> None:
    repo = github.new_repo()
    github.ask("POST", f"/repos/{repo}/issues", {"title": "Empty"})
    assert connect(repo).issue(1).body == ""


def test_comments_are_written_edited_and_deleted(github: Hub, connect: Connect) -> None:
    repo = github.new_repo()
    remote = connect(repo)
    github.open_issue_as("ada", repo)
    made = remote.post_comment(1, "Größe 😀\n\n- one")
    assert (made.author, made.body) == ("ada", "Größe 😀\n\n- one")
    assert made.url == f"{github.web}/{repo}/issues/1#issuecomment-{made.id}"
    assert remote.edit_comment(made.id, "new").body == "new"
    assert github.bodies(repo, 1) == ["new"]
    remote.delete_comment(made.id)
    remote.delete_comment(made.id)
    assert github.bodies(repo, 1) == []
    assert len(github.requests) == 4


@pytest.mark.parametrize(("count", "requests"), [(0, 1), (100, 1), (101, 2), (205, 3)])
@pytest.mark.sample(2)
def test_all_comments_are_listed_a_hundred_at_a_time(github: Hub, connect: Connect, count: int, requests: int) -> None:
    repo = github.new_repo()
    github.open_issue_as("ada", repo)
    made = [github.comment_as("bob", repo, 1, f"{n}") for n in range(count)]
    comments = connect(repo).comments(1)
    assert [comment.id for comment in comments] == made
    assert [comment.body for comment in comments] == [f"{n}" for n in range(count)]
    assert len(github.requests) == requests


def test_issues_of_an_author_open_and_closed(github: Hub, connect: Connect) -> None:
    repo = github.new_repo()
    remote = connect(repo)
    for user in ("ada", "bob", "ada"):
        github.open_issue_as(user, repo)
    remote.edit_issue(1, state="closed")
    assert [issue.number for issue in remote.issues_by("ada", SINCE)] == [1, 3]
    assert [issue.number for issue in remote.issues_by(None, SINCE)] == [1, 2, 3]
    assert "creator=ada" in github.requests[1].query
    assert "since=2020-01-01T00%3A00%3A00Z" in github.requests[1].query


def test_pull_requests_are_not_issues(github: Hub, connect: Connect) -> None:
    repo = github.new_repo()
    content = (
        b'[{"number": 1, "html_url": "https://host/a/b/pull/1"}, {"number": 2, "locked": false, '
        b'"title": "T", "body": null, "user": null,'
        b'"state": "open", "html_url": "https://host/a/b/issues/2"}]'
    )
    listed = faults.Reply(status=200, headers={"content-type": faults.JSON}, content=content)
    github.rules.add("GET", "/issues$", Fault(name="listed", answers=lambda _request, _true: listed))
    (issue,) = connect(repo).issues_by(None, SINCE)
    assert (issue.number, issue.author, issue.body) == (2, "ghost", "")


def test_tags_are_made_and_followed_to_their_commit(github: Hub, connect: Connect) -> None:
    repo = github.new_repo()
    remote = connect(repo)
    commit = github.head(repo)
    assert remote.tagged_commit("moe/r1") is None
    remote.create_tag("moe/r1", commit, "The first result")
    assert remote.tagged_commit("moe/r1") == commit
    assert (github.tag(repo, "moe/r1")["message"], github.tag(repo, "moe/r1")["object"]["sha"]) == (
        "The first result",
        commit,
    )
    github.ask("POST", f"/repos/{repo}/git/refs", {"ref": "refs/tags/light", "sha": commit})
    assert remote.tagged_commit("light") == commit
    with pytest.raises(Rejected) as caught:
        remote.create_tag("moe/r1", commit, "Again")
    assert "Reference already exists" in caught.value.cause


def test_commits_are_there_or_not(github: Hub, connect: Connect) -> None:
    repo = github.new_repo()
    remote = connect(repo)
    github.push("c" * 40)
    assert [remote.has_commit(sha) for sha in (github.head(repo), "c" * 40, "d" * 40)] == [True, True, False]


def test_the_login_of_the_token(github: Hub, connect: Connect) -> None:
    assert connect("ada/any", token=github.tokens["bob"]).login() == "bob"
    github.rules.add("GET", "/user$", faults.forbidden("Resource not accessible by integration"))
    assert connect("ada/any").login() is None


@pytest.mark.parametrize("fault", [*LOST, *[fault for fault, _ in TERMINAL]], ids=lambda fault: fault.name)
@pytest.mark.sample(5)
def test_the_token_is_in_no_log_and_no_error(
    github: Hub, connect: Connect, fault: Fault, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    repo = github.new_repo()
    github.open_issue_as("ada", repo)
    remote = connect(repo)
    with caplog.at_level(logging.DEBUG), caplog.at_level(logging.DEBUG, "github"):
        remote.issue(1)
        github.rules.add(".*", "", fault)
        with pytest.raises(RemoteError) as caught:
            remote.post_comment(1, "text")
    assert "Authorization" in caplog.text
    told = caplog.text + everything(caught.value) + repr(remote) + "".join(capfd.readouterr())
    assert github.token not in told
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert all(request.authorization == f"token {github.token}" for request in github.requests)


def test_whole_messages(github: Hub, connect: Connect) -> None:
    github.rules.add("GET", "", faults.missing())
    github.rules.add("POST", "", faults.locked())
    github.rules.add("PATCH", "", faults.unauthorized())
    remote = connect("ada/moe")
    with pytest.raises(IssueMissing) as missing:
        remote.issue(5)
    assert missing.value.message == f"{github.host} did not find issue ada/moe#5"
    assert missing.value.cause == "it does not exist, was deleted, or this token may not see it"
    assert missing.value.hint.startswith("check the address, and that the token may see it (another issue: ")
    with pytest.raises(IssueLocked) as locked:
        remote.post_comment(5, "text")
    assert locked.value.message == "issue ada/moe#5 is locked"
    with pytest.raises(BadToken) as unknown:
        remote.edit_issue(5, body="text")
    assert unknown.value.hint == "make a new one and set GH_ENTERPRISE_TOKEN, then: logbook sync"


def test_a_wait_is_not_silent(github: Hub, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = github.new_repo()
    github.open_issue_as("ada", repo)
    said: list[str] = []
    remote = connect(repo, say=said.append)
    remote.issue(1)
    assert said == []
    monkeypatch.setattr(adapter, "SAY_EVERY_S", 0.05)
    # The answer comes only after two lines were said, however busy the machine is.
    twice = threading.Event()

    def say(text: str) -> None:
        said.append(text)
        if len(said) == 2:
            twice.set()

    github.rules.add("GET", "", faults.also(lambda _request: twice.wait(60)), times=1)
    connect(repo, timeout_s=60, say=say).issue(1)
    assert said[0] == f"waiting for {github.host} to read issue {repo}#1: 0 s so far, at most 60 s for each answer"
    assert len(said) >= 2
