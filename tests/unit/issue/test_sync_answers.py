"""Answers of a host are untrusted: whatever comes back, the end is an error with a name, soon."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from logbook_agent.issue import github as adapter
from logbook_agent.issue.github import GitHub
from logbook_agent.model.errors import AnswerLost, RemoteError, Unreachable
from tests.emulator.faults import JSON, Fault, Reply, Request
from tests.emulator.fixtures import Hub
from tests.unit.issue.adapter_support import Connect, everything

GOOD = {
    "number": 1,
    "id": 7,
    "html_url": "https://h.example.org/ada/any/issues/1",
    "title": "t",
    "body": "text",
    "state": "open",
    "user": {"login": "ada"},
}


def changed(**parts: Any) -> bytes:
    return json.dumps(GOOD | parts).encode()


BAD = {
    "html": b"<html>Please log in</html>",
    "deep lists": b"[" * 100_000,
    "half a character": changed(body="\ud800"),
    "a body of another kind": changed(body=["text"]),
    "signs in an address": changed(html_url="https://h.example.org/ada/any/issues/1\x1b]0;x\x07"),
    "signs in a login": changed(user={"login": "ada\x1b[2J"}),
}


def always(content: bytes, status: int = 200, **headers: str) -> Fault:
    reply = Reply(status=status, headers={"content-type": JSON} | headers, content=content)
    return Fault(name="always", answers=lambda _request, _true: reply)


READS: list[Callable[[GitHub], object]] = [
    lambda remote: remote.issue(1),
    lambda remote: remote.comment(7),
    lambda remote: remote.comments(1),
    lambda remote: remote.issues_by("ada", datetime(2026, 1, 1, tzinfo=UTC)),
]
WRITES: list[Callable[[GitHub], object]] = [
    lambda remote: remote.create_issue("t", "text", ()),
    lambda remote: remote.edit_issue(1, body="text"),
    lambda remote: remote.post_comment(1, "text"),
    lambda remote: remote.edit_comment(7, "text"),
]


@pytest.mark.parametrize("content", BAD.values(), ids=BAD)
def test_an_answer_that_cannot_be_read(github: Hub, connect: Connect, content: bytes) -> None:
    github.rules.add(".*", "", always(content))
    remote = connect("ada/any")
    for act in READS:
        with pytest.raises(Unreachable, match="could not") as caught:
            act(remote)
        harmless(caught.value, github)
    for act in WRITES:
        with pytest.raises(AnswerLost) as lost:
            act(remote)
        harmless(lost.value, github)


def harmless(error: RemoteError, github: Hub) -> None:
    """Its three parts are short lines that no terminal obeys, and the token is nowhere near."""
    for part in (error.message, error.cause, error.hint):
        assert 0 < len(part) < 1_000
        assert part.isprintable()
    assert github.token not in everything(error)


@pytest.mark.parametrize(
    "headers",
    [
        {"x-ratelimit-remaining": "inf", "x-ratelimit-limit": "nan"},
        {"x-ratelimit-reset": "1e999"},
        {"link": '<http://[half>; rel="next"'},
        {"content-type": "application/json; charset=idna"},
        {"content-encoding": "gzip"},
    ],
    ids=lambda headers: "-".join(headers),
)
def test_headers_that_say_nothing(github: Hub, connect: Connect, headers: dict[str, str]) -> None:
    github.rules.add(".*", "", always(b"[" + changed() + b"]", **headers))
    with pytest.raises(Unreachable) as caught:
        connect("ada/any").comments(1)
    harmless(caught.value, github)


@pytest.mark.parametrize("status", [401, 403, 404, 410, 422, 429, 500, 502])
@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b"\xff" * 100,
        json.dumps({"message": "\x1b[2J\x1b]0;owned\x07 \x9b31m" * 1_000}).encode(),
        json.dumps({"message": ["x"], "errors": [{"message": "\x1b[2J"}, {"code": {"a": 1}}, 3, None]}).encode(),
    ],
    ids=["deep", "bytes", "signs", "kinds"],
)
@pytest.mark.sample(8)
def test_a_refusal_that_says_odd_things(github: Hub, connect: Connect, status: int, content: bytes) -> None:
    github.rules.add(".*", "", always(content, status))
    for act in (READS[0], WRITES[2]):
        with pytest.raises(RemoteError) as caught:
            act(connect("ada/any"))
        harmless(caught.value, github)


@pytest.mark.slow
def test_an_answer_as_long_as_github_gives_is_read(github: Hub, connect: Connect) -> None:
    """A page of 100 comments, each as long as it may be."""
    page = [GOOD | {"id": n + 1, "body": "\u00e9" * 65_536} for n in range(100)]
    github.rules.add("GET", "", always(json.dumps(page).encode()))
    assert len(connect("ada/any", timeout_s=20).comments(1)) == 100


@pytest.mark.parametrize("pages", [None, 1, 3])
def test_a_list_without_an_end(
    github: Hub, connect: Connect, monkeypatch: pytest.MonkeyPatch, pages: int | None
) -> None:
    """Each page names another one: for ever, or round in a circle."""
    monkeypatch.setattr(adapter, "MOST_PAGES", 20)

    def answers(request: Request, _: Reply | None) -> Reply:
        page = int(request.query.rpartition("page=")[2]) + 1 if request.path == "/x" else 2
        link = f'<{github.api}/x?per_page=100&page={page % pages if pages else page}>; rel="next"'
        return Reply(status=200, headers={"content-type": JSON, "link": link}, content=b"[" + changed() + b"]")

    github.rules.add("GET", "", Fault(name="endless", answers=answers))
    with pytest.raises(Unreachable, match="could not list") as caught:
        connect("ada/any").comments(1)
    assert caught.value.cause == "its list does not end: there are more than 20 pages"
    assert len(github.requests) == 20
