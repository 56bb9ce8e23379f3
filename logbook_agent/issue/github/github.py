"""GitHub, by PyGithub: its connection, its token handling and its masked log; every request here is one of ours.

PyGithub's objects are not used: they fetch what they lack unasked, follow the links of pages and moved issues wherever
these lead, and send a write again when its answer was lost. Its `Requester` sends exactly what it is told.

Every method is one request or, where it lists, one per page. It returns what the server holds now, or raises:
`AnswerLost` when a write was sent and its fate is unknown, `RateLimited` when it was refused for now, `Unreachable`
when a read failed for good, else the terminal RemoteError that names the trouble. No method waits or writes twice.
"""

from __future__ import annotations

import functools
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn, TypeVar
from urllib.parse import quote, urlsplit

from logbook_agent.issue.github import answers
from logbook_agent.issue.github.answers import UNREADABLE, Call, HostAnswer, IssueHost
from logbook_agent.issue.github.connection import requester
from logbook_agent.issue.github.refusals import moved, no_answer
from logbook_agent.issue.github.token import variables
from logbook_agent.issue.github.wire import Wire
from logbook_agent.issue.planning.markers import normalised
from logbook_agent.issue.planning.values import Comment, Issue, IssueState
from logbook_agent.model.errors import BadToken, Forbidden, IssueMissing, Rejected, UsageError

PER_PAGE = 100
# 100,000 issues or comments.
MOST_PAGES = 1_000
_TAGS_IN_TAGS = 5
_UNREADABLE = "its answer cannot be read: is this the address of the API?"
_NO_PAGE = "the address of the next page of its list is not valid"

Read = TypeVar("Read")


class GitHub:
    """One repository on one host, with one token.

    `api` is the address of the REST API: https://api.github.com, or https://HOST/api/v3. `timeout_s` bounds each wait
    for a connection or an answer, in whole seconds, rounded up; `say` is told what is being waited for; `typed` says
    what errors tell the user to type. Raises UsageError for an address that is none and BadToken for a token that no
    host gives out.
    """

    def __init__(
        self,
        *,
        api: str,
        token: str | None,
        repository: str,
        say: Callable[[str], None],
        timeout_s: float = 15.0,
        sleep: Callable[[float], None] = time.sleep,
        typed: IssueHost | None = None,
    ) -> None:
        address = api.rstrip("/")
        root = urlsplit(address)
        if root.scheme not in ("http", "https") or not root.hostname:
            raise UsageError(
                f"{api} is not the address of an API", hint="https://api.github.com, or https://HOST/api/v3"
            )
        name = "github.com" if root.hostname == "api.github.com" else root.netloc.rpartition("@")[2]
        self._host = replace(typed or IssueHost(), name=name, has_token=token is not None)
        if token is not None and not re.fullmatch(r"[!-~]+", token):
            raise BadToken(
                f"the token for {name} is not valid",
                cause="it is empty, or contains a space, a line break or a character other than ASCII",
                hint=f"set {variables(name)[0]} to the token and nothing else, then: {self._host.again}",
            )
        self._repository = repository
        whole_s = max(1, math.ceil(timeout_s))
        self._requester = requester(api=address, token=token, timeout_s=whole_s, per_page=PER_PAGE)
        self._wire = Wire(
            send=self._requester.requestJson,
            api=address,
            host=self._host,
            token=token,
            timeout_s=whole_s,
            say=say,
            sleep=sleep,
        )

    def login(self) -> str | None:
        """Whose token it is; None when the host does not tell this kind of token."""
        call = Call(method="GET", path="/user", doing="say whose token this is", about="account of this token")
        try:
            return self._read(call, answers.login)
        except (Forbidden, IssueMissing):
            return None

    def issue(self, number: int) -> Issue:
        """Raises IssueMissing or IssueMoved. A locked issue is returned as such."""
        call = self._call("GET", f"issues/{number}", "read", self._named(number))
        return self._same_place(self._read(call, answers.issue), number)

    def comments(self, number: int) -> tuple[Comment, ...]:
        """All comments, ascending by ID."""
        call = self._call("GET", f"issues/{number}/comments", "list the comments of", self._named(number))
        found = {comment.id: comment for comment in self._pages(call, {}, answers.comment)}
        return tuple(found[comment_id] for comment_id in sorted(found))

    def comment(self, comment_id: int) -> Comment:
        """Raises IssueMissing."""
        path, about = self._comment(comment_id)
        call = self._call("GET", path, "read", about)
        return self._read(call, lambda data: answers.comment(data, comment_id))

    def issues_by(self, author: str | None, since: str) -> tuple[Issue, ...]:
        """Issues (no pull requests), open and closed, that changed since then (ISO 8601), ascending by number."""
        call = self._call("GET", "issues", "list the issues of", f"repository {self._repository}")
        filters = {"state": "all", "sort": "created", "direction": "asc", "since": since}
        if author is not None:
            filters["creator"] = author
        # A pull request is listed as an issue too.
        listed = self._pages(call, filters, lambda data: None if data.get("pull_request") else answers.issue(data))
        found = {issue.number: issue for issue in listed if issue is not None}
        return tuple(found[number] for number in sorted(found))

    def create_issue(self, title: str, body: str, labels: Sequence[str]) -> Issue:
        data = {"title": title, "body": body, "labels": list(labels)}
        call = self._call("POST", "issues", "open an issue in", f"repository {self._repository}", data)
        issue = self._read(call, answers.issue)
        self._check_stored(call, body, issue.body)
        return issue

    def edit_issue(self, number: int, *, body: str | None = None, state: IssueState | None = None) -> Issue:
        """Changes what is given and nothing else. A closed issue is closed as completed."""
        data: dict[str, object] = {}
        if body is not None:
            data["body"] = body
        if state is not None:
            data |= {"state": state, "state_reason": "completed" if state == "closed" else "reopened"}
        call = self._call("PATCH", f"issues/{number}", "change", self._named(number), data)
        issue = self._same_place(self._read(call, answers.issue), number)
        if body is not None:
            self._check_stored(call, body, issue.body)
        if state is not None and issue.state != state:
            self._not_stored(call, f"it should be {state}, but is {issue.state}")
        return issue

    def post_comment(self, number: int, body: str) -> Comment:
        path = f"issues/{number}/comments"
        return self._write_comment(self._call("POST", path, "comment on", self._named(number), {"body": body}), body)

    def edit_comment(self, comment_id: int, body: str) -> Comment:
        path, about = self._comment(comment_id)
        return self._write_comment(self._call("PATCH", path, "edit", about, {"body": body}), body, comment_id)

    def delete_comment(self, comment_id: int) -> None:
        """One that is gone already is no error."""
        path, about = self._comment(comment_id)
        try:
            self._wire.ask(self._call("DELETE", path, "delete", about))
        except IssueMissing:
            return

    def tagged_commit(self, name: str) -> str | None:
        """The commit that a tag leads to, through tag objects; None when there is no such tag."""
        about = f"tag {name} in {self._repository}"
        path = f"git/ref/tags/{quote(name)}"
        for _ in range(_TAGS_IN_TAGS):
            try:
                kind, sha = self._read(self._call("GET", path, "read", about), answers.tagged)
            except IssueMissing:
                return None
            if kind != "tag":
                return sha
            path = f"git/tags/{quote(sha)}"
        return None

    def has_commit(self, commit: str) -> bool:
        call = self._call("GET", f"git/commits/{quote(commit)}", "look for", f"commit {commit} in {self._repository}")
        try:
            self._wire.ask(call)
        except (IssueMissing, Rejected):
            # 422: it is no SHA; 409: there are no commits yet.
            return False
        return True

    def create_tag(self, name: str, commit: str, message: str) -> None:
        """An annotated tag: the object and its ref."""
        doing, about = f"make the tag {name} in", f"repository {self._repository}"
        data = {"tag": name, "message": message, "object": commit, "type": "commit"}
        sha = self._read(self._call("POST", "git/tags", doing, about, data), answers.sha)
        self._wire.ask(self._call("POST", "git/refs", doing, about, {"ref": f"refs/tags/{name}", "sha": sha}))

    # What they have in common.

    def _named(self, number: int) -> str:
        return f"issue {self._repository}#{number}"

    def _comment(self, comment_id: int) -> tuple[str, str]:
        return f"issues/comments/{comment_id}", f"comment {comment_id} in {self._repository}"

    def _call(self, method: str, path: str, verb: str, about: str, data: Mapping[str, object] | None = None) -> Call:
        whole = f"/repos/{self._repository}/{path}"
        return Call(method=method, path=whole, doing=f"{verb} {about}", about=about, data=data)

    def _read(self, call: Call, read: Callable[[Any], Read]) -> Read:
        answer = self._wire.ask(call)
        return self._understood(call, lambda: read(answer.data))

    def _understood(self, call: Call, read: Callable[[], Read], trouble: str = _UNREADABLE) -> Read:
        try:
            return read()
        except UNREADABLE:
            pass
        raise no_answer(call, self._host, trouble)

    def _pages(self, call: Call, filters: Mapping[str, str], read: Callable[[Any], Read]) -> Iterator[Read]:
        """Every item of every page."""
        parameters: dict[str, str] = {**filters, "per_page": str(PER_PAGE)}
        seen: list[dict[str, str]] = []
        while len(seen) < MOST_PAGES:
            answer = self._wire.ask(replace(call, parameters=parameters))
            yield from self._understood(call, functools.partial(_listed, answer, read))
            following = self._understood(call, functools.partial(getattr, answer, "next_page"), _NO_PAGE)
            if following is None:
                return
            seen.append(parameters)
            if following in seen:
                raise no_answer(call, self._host, "a page of its list links to itself")
            parameters = following
        raise no_answer(call, self._host, f"its list has more than {MOST_PAGES:,} pages")

    def _write_comment(self, call: Call, body: str, comment_id: int | None = None) -> Comment:
        comment = self._read(call, lambda data: answers.comment(data, comment_id))
        self._check_stored(call, body, comment.body)
        return comment

    def _check_stored(self, call: Call, sent: str, stored: str) -> None:
        if normalised(sent) != normalised(stored):
            size = len(stored.encode("utf-8", "replace"))
            self._not_stored(
                call, f"{len(sent.encode('utf-8', 'replace'))} bytes were sent, but {size} different bytes are stored"
            )

    def _not_stored(self, call: Call, cause: str) -> NoReturn:
        message = (
            f"not stored as sent: {self._host.name} accepted the request to {call.doing}, but stored something else"
        )
        raise Rejected(message, cause=cause, hint=f"look at the issue, then: {self._host.again}")

    def _same_place(self, issue: Issue, number: int) -> Issue:
        """Raises IssueMoved for an issue of another repository or number."""
        found = re.search(r"/([^/]+/[^/]+)/(?:issues|pull)/(\d+)$", urlsplit(issue.url).path)
        here = (self._repository.casefold(), number)
        if found is None or (found[1].casefold(), int(found[2])) != here or issue.number != number:
            raise moved(self._call("GET", f"issues/{number}", "read", self._named(number)), self._host, issue.url)
        return issue


def _listed(answer: HostAnswer, read: Callable[[Any], Read]) -> list[Read]:
    """Of a page: more than were asked for are no list of GitHub's."""
    items = answer.data
    if not isinstance(items, list) or len(items) > PER_PAGE:
        raise TypeError("no page of a list")
    return [read(item) for item in items]
