"""`github`: a GitHub of one's own, with no faults, an empty log and repositories that no other test has seen."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.emulator.faults import Request, Rules
from tests.emulator.proxy import Proxy, public_token

USERS = ("ada", "bob", "mallory")
_numbers = itertools.count(1)


class Hub:
    """What a test sees of it. Its methods go past the proxy: no fault meets them, and no log names them."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self.api = proxy.api
        self.web = proxy.web
        self.host = proxy.web.removeprefix("http://")
        self.tokens = {user: public_token(user) for user in USERS}
        self.token = self.tokens["ada"]

    @property
    def rules(self) -> Rules:
        return self._proxy.rules

    @property
    def requests(self) -> list[Request]:
        return self._proxy.requests

    @property
    def writes(self) -> list[Request]:
        return [request for request in self.requests if request.is_write]

    @property
    def troubles(self) -> list[BaseException]:
        """What went wrong in the proxy itself."""
        return self._proxy.troubles

    def ask(self, method: str, path: str, data: object = None, *, user: str = "ada") -> Any:
        """The data of the answer; an answer other than 2xx fails the test."""
        content = None if data is None else json.dumps(data).encode()
        reply = self._proxy.emulator.ask(method, path, user=user, content=content)
        assert 200 <= reply.status < 300, (method, path, reply)
        text = reply.content.decode().replace(f'"html_url":"{self.api}/', f'"html_url":"{self.web}/')
        return json.loads(text) if text else None

    def _all(self, path: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for page in itertools.count(1):
            part = self.ask("GET", f"{path}{'&' if '?' in path else '?'}per_page=100&page={page}")
            found += part
            if len(part) < 100:
                break
        return found

    def new_repo(self, *, private: bool = False) -> str:
        """owner/name of a new repository of ada's with one commit; `head` gives its SHA."""
        name = f"repo-{next(_numbers)}"
        self.ask("POST", "/user/repos", {"name": name, "auto_init": True, "private": private})
        return f"ada/{name}"

    def let_in(self, user: str, repo: str) -> None:
        """As a collaborator."""
        self.ask("PUT", f"/repos/{repo}/collaborators/{user}", {"permission": "push"})

    def head(self, repo: str) -> str:
        return str(self.ask("GET", f"/repos/{repo}/git/ref/heads/main")["object"]["sha"])

    def push(self, *commits: str) -> None:
        """These commits are taken to be there until the test ends; the emulator knows no git transport."""
        self._proxy.pushed.update(commits)

    def issues(self, repo: str) -> list[dict[str, Any]]:
        """All, open and closed, ascending."""
        return self._all(f"/repos/{repo}/issues?state=all&sort=created&direction=asc")

    def issue(self, repo: str, number: int) -> dict[str, Any]:
        found: dict[str, Any] = self.ask("GET", f"/repos/{repo}/issues/{number}")
        return found

    def comments(self, repo: str, number: int) -> list[dict[str, Any]]:
        return self._all(f"/repos/{repo}/issues/{number}/comments")

    def bodies(self, repo: str, number: int) -> list[str]:
        """Of the comments."""
        return [comment["body"] for comment in self.comments(repo, number)]

    def tag(self, repo: str, name: str) -> dict[str, Any]:
        """The tag object that the ref leads to."""
        ref = self.ask("GET", f"/repos/{repo}/git/ref/tags/{name}")
        found: dict[str, Any] = self.ask("GET", f"/repos/{repo}/git/tags/{ref['object']['sha']}")
        return found

    def open_issue_as(
        self, user: str, repo: str, title: str = "An issue", body: str = "", labels: Sequence[str] = ()
    ) -> int:
        data = {"title": title, "body": body, "labels": list(labels)}
        return int(self.ask("POST", f"/repos/{repo}/issues", data, user=user)["number"])

    def comment_as(self, user: str, repo: str, number: int, body: str) -> int:
        """The ID of the comment."""
        return int(self.ask("POST", f"/repos/{repo}/issues/{number}/comments", {"body": body}, user=user)["id"])

    def edit_body_as(self, user: str, repo: str, number: int, body: str) -> None:
        self.ask("PATCH", f"/repos/{repo}/issues/{number}", {"body": body}, user=user)

    def edit_comment_as(self, user: str, repo: str, comment_id: int, body: str) -> None:
        self.ask("PATCH", f"/repos/{repo}/issues/comments/{comment_id}", {"body": body}, user=user)

    def delete_comment(self, repo: str, comment_id: int) -> None:
        self.ask("DELETE", f"/repos/{repo}/issues/comments/{comment_id}")

    def lock(self, repo: str, number: int) -> None:
        """The issue is shown as locked; a refusal to comment there is the fault `locked`."""
        self.ask("PUT", f"/repos/{repo}/issues/{number}/lock", {})


@pytest.fixture(scope="session")
def github_server() -> Iterator[Proxy]:
    """One per process of tests, started when the first test asks for it."""
    with Proxy(USERS) as proxy:
        yield proxy


@pytest.fixture
def github(github_server: Proxy, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    github_server.reset()
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")
    hub = Hub(github_server)
    yield hub
    troubles = hub.troubles
    github_server.reset()
    assert troubles == []
