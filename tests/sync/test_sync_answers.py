"""Answers of a host are untrusted: whatever comes back, the end is an error with a name, soon."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from logbook_agent.issue.github import connection
from logbook_agent.issue.github import github as adapter
from logbook_agent.issue.github.github import GitHub
from logbook_agent.model.errors import AnswerLost, RemoteError, Unreachable
from tests.emulator.faults import JSON, Fault, Reply, Request
from tests.emulator.fixtures import Hub
from tests.sync.adapter_support import Connect, everything

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
    "empty": b"",
    "html": b"<html>Please log in</html>",
    "deep lists": b"[" * 100_000,
    "deep tables": b'{"body":' * 100_000,
    "not UTF-8": changed().replace(b"text", b"t\xe9xt"),
    "cut in a character": changed(body="\u00e9").replace(b"\\u00e9", "\u00e9".encode()[:1]) + b"\xc3",
    "a list": b"[1]",
    "a text": b'"issue"',
    "null": b"null",
    "a number as text": changed(number="1", id="7"),
    "no number": changed(number=None, id=None),
    "a fraction": changed(number=1.5, id=1.5),
    "endless": changed(number=1, id=1).replace(b": 1", b": 1e999"),
    "not a number": changed().replace(b": 1", b": NaN").replace(b": 7", b": NaN"),
    "true": changed(number=True, id=True),
    "below zero": changed(number=-1, id=-1),
    "many digits": changed().replace(b": 1", b": " + b"1" * 5_000).replace(b": 7", b": " + b"7" * 5_000),
    "half a character": changed(body="\ud800"),
    "a body of another kind": changed(body=["text"]),
    "an address of another kind": changed(html_url={"a": 1}),
    "an address of no host": changed(html_url="javascript:alert(1)"),
    "signs in an address": changed(html_url="https://h.example.org/ada/any/issues/1\x1b]0;x\x07"),
    "lines in an address": changed(html_url="https://h.example.org/\n/ada/any/issues/1"),
    "a long address": changed(html_url="https://h.example.org/" + "a" * 100_000),
    "signs in a login": changed(user={"login": "ada\x1b[2J"}),
    "a long login": changed(user={"login": "a" * 1_000}),
    "a login of another kind": changed(user="ada"),
}


def always(content: bytes, status: int = 200, **headers: str) -> Fault:
    reply = Reply(status=status, headers={"content-type": JSON} | headers, content=content)
    return Fault(name="always", answers=lambda _request, _true: reply)


READS: list[Callable[[GitHub], object]] = [
    lambda remote: remote.issue(1),
    lambda remote: remote.comment(7),
    lambda remote: remote.comments(1),
    lambda remote: remote.issues_by("ada", "2026-01-01T00:00:00Z"),
]
WRITES: list[Callable[[GitHub], object]] = [
    lambda remote: remote.create_issue("t", "text", ()),
    lambda remote: remote.edit_issue(1, body="text"),
    lambda remote: remote.post_comment(1, "text"),
    lambda remote: remote.edit_comment(7, "text"),
]


@pytest.mark.parametrize("content", BAD.values(), ids=BAD)
@pytest.mark.sample(5)
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
    if "charset" in "".join(headers.values()):
        assert connect("ada/any").comments(1)[0].id == 7
        return
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
def test_a_refusal_that_says_odd_things(github: Hub, connect: Connect, status: int, content: bytes) -> None:
    github.rules.add(".*", "", always(content, status))
    for act in (READS[0], WRITES[2]):
        with pytest.raises(RemoteError) as caught:
            act(connect("ada/any"))
        harmless(caught.value, github)


def page_after(request: Request) -> int:
    found = [part for part in request.query.split("&") if part.startswith("page=")]
    return int(found[0].removeprefix("page=") if found else 1)


@pytest.mark.parametrize("pages", [0, 1, 2, 3])
def test_a_list_without_an_end(github: Hub, connect: Connect, pages: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each page names another one: for ever, or round in a circle."""
    monkeypatch.setattr(adapter, "MOST_PAGES", 20)

    def answers(request: Request, _: Reply | None) -> Reply:
        page = page_after(request) + 1
        link = f'<{github.api}/x?page={page % pages + 1 if pages else page}&per_page=100>; rel="next"'
        return Reply(status=200, headers={"content-type": JSON, "link": link}, content=b"[" + changed() + b"]")

    github.rules.add("GET", "", Fault(name="endless", answers=answers))
    with pytest.raises(Unreachable) as caught:
        connect("ada/any").comments(1)
    assert caught.value.cause in (
        "its list has more than 20 pages",
        "a page of its list links to itself",
    )
    assert len(github.requests) <= 20


def test_a_page_with_more_than_was_asked_for(github: Hub, connect: Connect) -> None:
    github.rules.add("GET", "", always(b"[" + b",".join([changed()] * 101) + b"]"))
    with pytest.raises(Unreachable, match="could not list"):
        connect("ada/any").comments(1)


@contextmanager
def pouring(head: bytes, piece: bytes, pause_s: float = 0.0) -> Iterator[str]:
    """The API of a server whose answers never end."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        ended = threading.Event()

        def pour(connection: socket.socket) -> None:
            with connection:
                connection.recv(65_536)
                try:
                    connection.sendall(head)
                    while not ended.is_set():
                        connection.sendall(piece)
                        time.sleep(pause_s)
                except OSError:
                    return

        def serve() -> None:
            while True:
                try:
                    accepted = server.accept()[0]
                except OSError:
                    return
                threading.Thread(target=pour, args=(accepted,), daemon=True).start()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/api/v3"
        ended.set()
        server.shutdown(socket.SHUT_RDWR)
        thread.join(5)


@pytest.mark.parametrize("status", [b"200 OK", b"404 Not Found", b"500 Oh"])
@pytest.mark.parametrize("pause_s", [0.0, 0.05])
def test_an_answer_without_an_end(
    github: Hub, connect: Connect, monkeypatch: pytest.MonkeyPatch, status: bytes, pause_s: float
) -> None:
    monkeypatch.setattr(connection, "MOST_BYTES", 1_000_000)
    monkeypatch.setattr(connection, "LONGEST_S", 0.2)
    head = b"HTTP/1.1 " + status + b"\r\ncontent-type: application/json\r\n\r\n["
    with pouring(head, b" " * (10 if pause_s else 50_000), pause_s) as api:
        began = time.monotonic()
        with pytest.raises(AnswerLost) as caught:
            connect("ada/any", api=api).post_comment(1, "text")
    assert caught.value.cause.startswith("its answer has no end")
    assert time.monotonic() - began < 10
    harmless(caught.value, github)


def test_a_redirect_without_an_end(github: Hub, connect: Connect) -> None:
    head = b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:9/\x1b[2J\r\n\r\n"
    with pouring(head, b" " * 50_000) as api, pytest.raises(RemoteError) as caught:
        connect("ada/any", api=api).issue(1)
    assert "redirects to" in caught.value.message
    harmless(caught.value, github)


@pytest.mark.slow
def test_an_answer_as_long_as_github_gives_is_read(github: Hub, connect: Connect) -> None:
    """A page of 100 comments, each as long as it may be."""
    page = [GOOD | {"id": n + 1, "body": "\u00e9" * 65_536} for n in range(100)]
    github.rules.add("GET", "", always(json.dumps(page).encode()))
    assert len(connect("ada/any", timeout_s=20).comments(1)) == 100
