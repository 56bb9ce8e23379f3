"""GitHub, by PyGithub: its objects, its pages and its exceptions; one method here is one thing that a sync does.

A write is sent once: only reads are repeated (urllib3's `Retry`). PyGithub's own `GithubRetry` is not used, since it
sends a POST again whose answer was lost, which leaves two comments, and waits for a limit in silence, past any bound;
`pace.py` keeps to the limits instead. `lazy=True`: an object fetches nothing until its attributes are read.

Methods return what the server holds now, or raise: `AnswerLost` when a write was sent and its fate is unknown,
`RateLimited` when waiting for a limit would take too long, `Unreachable` when a read failed for good, else the
RemoteError that names the trouble. This module and `answers.py` load PyGithub; they are loaded when a request is made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import urlsplit

from github import Auth, Github, GithubException
from github.IssueComment import IssueComment
from requests.utils import get_environ_proxies, select_proxy
from urllib3.util import Retry

from logbook_agent.issue.answers import LOGIN, Request, all_of, comment_of, issue_of, message_of, one_line, text_of
from logbook_agent.issue.marking import normalised
from logbook_agent.issue.pace import Pace, Stale
from logbook_agent.issue.values import Comment, Issue
from logbook_agent.model.errors import Forbidden, IssueMissing, Rejected, RemoteError, Unreachable, UsageError
from logbook_agent.text.fit import size

PER_PAGE = 100
# Reads are asked three times at most; between the second and the third passes this time, twice.
READ_BACKOFF_S = 0.5
TIMEOUT_S = 30

T = TypeVar("T")
H = TypeVar("H", Issue, Comment)


class GitHub:
    """One repository on one host, with one token, at the pace of one command.

    `api` is the address of the REST API: https://api.github.com, or https://HOST/api/v3. Raises UsageError where the
    token would leave this machine in clear text.
    """

    def __init__(self, *, api: str, token: str | None, repository: str, pace: Pace) -> None:
        root = urlsplit(api)
        self._host = "github.com" if root.hostname == "api.github.com" else root.netloc.rpartition("@")[2]
        if token is not None and root.scheme == "http" and select_proxy(api, get_environ_proxies(api, no_proxy=None)):
            raise UsageError(
                f"{api} would be reached through a proxy, with the token in clear text",
                cause="http_proxy or all_proxy is set; without TLS, only this machine may be reached",
                hint="set NO_PROXY=127.0.0.1,localhost",
            )
        self._slug, self._token, self.pace = repository, token, pace
        self._about = f"repository {repository}"
        self._github = Github(
            auth=Auth.Token(token) if token is not None else None,
            base_url=api,
            timeout=TIMEOUT_S,
            user_agent="logbook-agent",
            per_page=PER_PAGE,
            retry=Retry(
                total=2,
                allowed_methods={"GET"},
                status_forcelist={500, 502, 503, 504},
                backoff_factor=READ_BACKOFF_S,
                raise_on_status=False,
                respect_retry_after_header=False,
            ),
            seconds_between_requests=None,
            seconds_between_writes=None,
            lazy=True,
        )
        self._repository = self._github.get_repo(repository)

    # -- reading ---------------------------------------------------------------------------------------

    def login(self) -> str:
        """The account of the token; "" without a token."""
        if self._token is None:
            return ""
        try:
            return self._read("say", "whose token this is", lambda: text_of(self._github.get_user().login, LOGIN))
        except (Forbidden, IssueMissing):
            # An app or a workflow has no user; GraphQL names it all the same.
            return self._read("say", "whose token this is", self._viewer)

    def _viewer(self) -> str:
        _, answer = self._github.requester.graphql_query("query { viewer { login } }", {})
        return text_of(answer["data"]["viewer"]["login"], LOGIN)

    def check_name(self) -> None:
        """Raises IssueMoved where the repository has another name by now."""
        found = self._read("read", self._about, lambda: self._github.get_repo(self._slug).complete().full_name)
        if found.casefold() != self._slug.casefold():
            raise self._request("read", self._about).moved(None)

    def issue(self, number: int) -> Issue:
        """Raises IssueMissing or IssueMoved. A locked issue is returned as such."""
        return self._read("read", self._named(number), lambda: self._issue(number))

    def comments(self, number: int) -> tuple[Comment, ...]:
        """All comments, ascending by ID."""

        def listed() -> dict[int, Comment]:
            return {c.id: comment_of(c) for c in all_of(self._repository.get_issue(number).get_comments())}

        found = self._read("list the comments of", self._named(number), listed)
        return tuple(found[key] for key in sorted(found))

    def issues_by(self, author: str, since: datetime | None) -> tuple[Issue, ...]:
        """Issues (no pull requests), open and closed, that changed since then, ascending by number."""
        filters: dict[str, Any] = {"state": "all", "sort": "created", "direction": "asc", "creator": author}
        filters |= {"since": since} if since is not None else {}

        def listed() -> dict[int, Issue]:
            found = all_of(self._repository.get_issues(**filters))
            # A pull request is listed as an issue too.
            return {i.number: issue_of(i) for i in found if "/pull/" not in i.html_url}

        found = self._read("list the issues of", self._about, listed)
        return tuple(found[key] for key in sorted(found))

    def tagged_commit(self, name: str) -> str | None:
        """The commit that a tag leads to, through tag objects; None when there is no such tag."""

        def read() -> str:
            found = self._repository.get_git_ref(f"tags/{name}").object
            while found.type == "tag":
                found = self._repository.get_git_tag(found.sha).object
            return text_of(found.sha)

        try:
            return self._read("read", f"tag {name} in {self._slug}", read)
        except IssueMissing:
            return None

    def has_commit(self, commit: str) -> bool:
        try:
            about = f"commit {commit} in {self._slug}"
            return bool(self._read("look for", about, lambda: self._repository.get_git_commit(commit).sha))
        except (IssueMissing, Rejected):
            # 422: it is no SHA; 409: there are no commits yet.
            return False

    # -- writing ---------------------------------------------------------------------------------------

    def create_issue(self, title: str, body: str, labels: Sequence[str]) -> Issue:
        def create() -> Issue:
            return _stored(body, issue_of(self._repository.create_issue(title, body, labels=list(labels))))

        return self._write("open an issue in", self._about, create)

    def edit_body(self, number: int, change: Callable[[str], str]) -> Issue:
        """The issue with its body changed. The body is read right before it is written: what people write is lost
        only between these two requests."""

        def edit() -> Issue:
            body = change(self._issue(number).body)
            there = self._repository.get_issue(number)
            there.edit(body=body)
            return _stored(body, self._same_place(issue_of(there), number))

        return self._write("change", self._named(number), edit)

    def close_issue(self, number: int) -> Issue:
        """The issue, closed as completed."""

        def close() -> Issue:
            there = self._repository.get_issue(number)
            there.edit(state="closed", state_reason="completed")
            found = self._same_place(issue_of(there), number)
            if found.state != "closed":
                raise _NotStored("it should be closed, but is open")
            return found

        return self._write("close", self._named(number), close)

    def post_comment(self, number: int, body: str) -> Comment:
        def post() -> Comment:
            return _stored(body, comment_of(self._repository.get_issue(number).create_comment(body)))

        return self._write("comment on", self._named(number), post)

    def edit_comment(self, comment_id: int, *, old: str, new: str) -> Comment:
        """The comment with another text. Raises Stale when it is not `old` any more, or not there.

        GitHub has no write that is refused when the text has changed since it was read. So it is read again right
        before it is written, after all waits; one request is left to lose an edit in.
        """

        def edit() -> Comment:
            there = self._unchanged(comment_id, old)
            there.edit(new)
            return _stored(new, comment_of(there))

        try:
            return self._write("edit", f"comment {comment_id} in {self._slug}", edit)
        except IssueMissing as error:
            error.hint = f"check that the token may edit this comment, then: {self.pace.again}"
            raise Stale(error) from None

    def delete_comment(self, comment_id: int, *, old: str) -> None:
        """One that is gone already is no error. Raises Stale when it is not `old` any more."""
        with suppress(IssueMissing):
            about = f"comment {comment_id} in {self._slug}"
            self._write("delete", about, lambda: self._unchanged(comment_id, old).delete())

    def create_tag(self, name: str, commit: str, message: str) -> None:
        """An annotated tag: the object and its ref."""

        def create() -> None:
            made = self._repository.create_git_tag(name, message, commit, "commit")
            self._repository.create_git_ref(f"refs/tags/{name}", text_of(made.sha))

        self._write(f"make the tag {name} in", self._about, create)

    # -- what they have in common ----------------------------------------------------------------------

    def _named(self, number: int) -> str:
        return f"issue {self._slug}#{number}"

    def _at(self, comment_id: int) -> IssueComment:
        # (The address of a comment does not name its issue.)
        return self._repository.get_issue(0).get_comment(comment_id)

    def _unchanged(self, comment_id: int, old: str) -> IssueComment:
        """The comment as it is now. Raises Stale when it is not `old` any more."""
        there = self._at(comment_id)
        if normalised(comment_of(there).body) != normalised(old):
            cause = "somebody else edited it"
            raise Stale(Unreachable(f"comment {comment_id} was edited while it was synced", cause=cause))
        return there

    def _issue(self, number: int) -> Issue:
        return self._same_place(issue_of(self._repository.get_issue(number)), number)

    def _same_place(self, issue: Issue, number: int) -> Issue:
        """The issue. Raises IssueMoved for one of another repository or number: reads follow a moved issue."""
        found = re.search(r"/([^/]+/[^/]+)/(?:issues|pull)/(\d+)$", urlsplit(issue.url).path)
        if found is None or (found[1].casefold(), int(found[2])) != (self._slug.casefold(), number):
            raise self._request("read", self._named(number)).moved(issue.url)
        return issue

    def _request(self, verb: str, about: str, *, is_write: bool = False) -> Request:
        return Request(
            doing=f"{verb} {about}",
            about=about,
            host=self._host,
            again=self.pace.again,
            has_token=self._token is not None,
            is_write=is_write,
        )

    def _read(self, verb: str, about: str, do: Callable[[], T]) -> T:
        return self.pace.reading(lambda: self._ask(self._request(verb, about), do))

    def _write(self, verb: str, about: str, do: Callable[[], T]) -> T:
        return self.pace.writing(lambda: self._ask(self._request(verb, about, is_write=True), do))

    def _ask(self, call: Request, do: Callable[[], T]) -> T:
        """What `do` answers; raises what an answer that is no success means."""
        with self.pace.patience(f"{self._host} to {call.doing}", TIMEOUT_S):
            outcome = self._outcome(call, do)
        # Raised here and not where an exception of the library is at hand: that one knows the token.
        if isinstance(outcome, RemoteError | Stale):
            raise outcome
        return outcome

    def _outcome(self, call: Request, do: Callable[[], T]) -> T | RemoteError | Stale:
        try:
            return do()
        except (RemoteError, Stale) as error:
            return error
        except _NotStored as error:
            message = (
                f"not stored as sent: {self._host} accepted the request to {call.doing}, but stored something else"
            )
            return Rejected(message, cause=str(error), hint=f"look at the issue, then: {call.again}")
        except GithubException as error:
            said = message_of(error.data)
            if self._token is not None:
                # A page of some server in between may hold the request it is about.
                said = said.replace(self._token, "[token]")
            return call.refused(error.status, error.headers or {}, one_line(said))
        except OSError as error:
            return call.broken(error, TIMEOUT_S)
        except Exception as error:  # noqa: BLE001 - PyGithub raises of every kind for an answer that is not GitHub's
            if "server redirected from" in str(error):
                return call.unanswered("it redirects to another host, and a token goes only to its own")
            return call.unanswered("its answer cannot be read: is this the address of the API?")


class _NotStored(Exception):
    """The host holds something else than what it was sent."""


def _stored(sent: str, found: H) -> H:
    """What the host holds, if that is what was sent: too long a text is said to be answered with the old one."""
    if normalised(sent) != normalised(found.body):
        raise _NotStored(f"{size(sent)} bytes were sent, but {size(found.body)} different bytes are stored")
    return found
