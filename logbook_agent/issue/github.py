"""GitHub, by PyGithub: its objects, its pages and its exceptions; one method here is one thing that a sync does.

A write is sent once: only reads are repeated (urllib3's `Retry`). PyGithub's own `GithubRetry` is not used, since it
sends a POST again whose answer was lost, which leaves two comments, and waits for a limit in silence, past any bound;
`pace.py` keeps to the limits instead. `lazy=True`: an object fetches nothing until its attributes are read.

Methods return what the server holds now, or raise: `AnswerLost` when a write was sent and its fate is unknown,
`RateLimited` when it was refused for now, `Unreachable` when a read failed for good, else the RemoteError that names
the trouble. This is the only module that loads PyGithub; it is loaded when a request is made.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, NoReturn, TypeVar
from urllib.parse import urlsplit

from github import Auth, Github, GithubException
from github.GithubObject import GithubObject
from github.Issue import Issue as GithubIssue
from github.IssueComment import IssueComment
from github.PaginatedList import PaginatedList
from requests.exceptions import ConnectTimeout, ProxyError, SSLError, Timeout
from requests.utils import get_environ_proxies, select_proxy
from urllib3.exceptions import NewConnectionError, ReadTimeoutError
from urllib3.util import Retry

from logbook_agent.issue.marking import normalised
from logbook_agent.issue.refusals import Call, IssueHost, moved, no_answer, one_line, refusal
from logbook_agent.issue.steps import LOGIN, Comment, Issue, IssueState
from logbook_agent.model.errors import Forbidden, IssueMissing, Rejected, RemoteError, Unreachable, UsageError

PER_PAGE = 100
# GitHub takes 2,500 comments on an issue. A list with more pages than this has no end: they link to one another.
MOST_PAGES = 300
# No wait is silent for five seconds.
SAY_EVERY_S = 4.5
# Reads are asked three times at most; between the second and the third passes this time, twice.
READ_BACKOFF_S = 0.5
# An account that was deleted leaves its texts to this one.
_GHOST = "ghost"

T = TypeVar("T")
L = TypeVar("L", bound=GithubObject)


class GitHub:
    """One repository on one host, with one token.

    `api` is the address of the REST API: https://api.github.com, or https://HOST/api/v3. `timeout_s` bounds each wait
    for an answer, in whole seconds, rounded up; `say` is told what is being waited for; `host` has what
    errors tell the user to type. Raises UsageError where the token would leave this machine in clear text.
    """

    def __init__(
        self,
        *,
        api: str,
        token: str | None,
        repository: str,
        say: Callable[[str], None],
        timeout_s: float = 15.0,
        host: IssueHost | None = None,
    ) -> None:
        root = urlsplit(api)
        name = "github.com" if root.hostname == "api.github.com" else root.netloc.rpartition("@")[2]
        self._host = replace(host or IssueHost(), name=name, has_token=token is not None)
        if token is not None and root.scheme == "http" and select_proxy(api, get_environ_proxies(api, no_proxy=None)):
            raise UsageError(
                f"{api} would be reached through a proxy, with the token in clear text",
                cause="http_proxy or all_proxy is set; without TLS, only this machine may be reached",
                hint="set NO_PROXY=127.0.0.1,localhost",
            )
        self._slug, self._token, self._say = repository, token, say
        self._timeout_s = max(1, math.ceil(timeout_s))
        self._github = Github(
            auth=Auth.Token(token) if token is not None else None,
            base_url=api,
            timeout=self._timeout_s,
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
            # The pace is kept by who calls.
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
        call = Call(doing="say whose token this is", about="account of this token")
        try:
            return self._ask(call, lambda: _login(self._github.get_user().login))
        except (Forbidden, IssueMissing):
            # An app or a workflow has no user; GraphQL names it all the same.
            return self._ask(call, self._viewer)

    def _viewer(self) -> str:
        _, answer = self._github.requester.graphql_query("query { viewer { login } }", {})
        return _login(answer["data"]["viewer"]["login"])

    def check_name(self) -> None:
        """Raises IssueMoved where the repository has another name by now."""
        call = Call(doing=f"read {self._about}", about=self._about)
        found = self._ask(call, lambda: self._github.get_repo(self._slug).complete().full_name)
        if found.casefold() != self._slug.casefold():
            raise moved(call, self._host, None)

    def issue(self, number: int) -> Issue:
        """Raises IssueMissing or IssueMoved. A locked issue is returned as such."""
        call = self._call("read", self._named(number))
        return self._same_place(call, self._ask(call, lambda: _issue(self._repository.get_issue(number))), number)

    def comments(self, number: int) -> tuple[Comment, ...]:
        """All comments, ascending by ID."""
        call = self._call("list the comments of", self._named(number))
        listed = self._ask(call, lambda: [_comment(c) for c in _all(self._repository.get_issue(number).get_comments())])
        return tuple(sorted({c.id: c for c in listed}.values(), key=lambda c: c.id))

    def comment(self, comment_id: int) -> Comment:
        """Raises IssueMissing."""
        return self._ask(self._call("read", self._told(comment_id)), lambda: _comment(self._at(comment_id)))

    def issues_by(self, author: str, since: datetime | None) -> tuple[Issue, ...]:
        """Issues (no pull requests), open and closed, that changed since then, ascending by number."""
        filters: dict[str, Any] = {"state": "all", "sort": "created", "direction": "asc", "creator": author}
        filters |= {"since": since} if since is not None else {}

        def listed() -> list[Issue]:
            # A pull request is listed as an issue too.
            return [_issue(i) for i in _all(self._repository.get_issues(**filters)) if "/pull/" not in i.html_url]

        found = self._ask(self._call("list the issues of", self._about), listed)
        return tuple(sorted({i.number: i for i in found}.values(), key=lambda i: i.number))

    def tagged_commit(self, name: str) -> str | None:
        """The commit that a tag leads to, through tag objects; None when there is no such tag."""

        def read() -> str:
            found = self._repository.get_git_ref(f"tags/{name}").object
            while found.type == "tag":
                found = self._repository.get_git_tag(found.sha).object
            return _text(found.sha)

        try:
            return self._ask(self._call("read", f"tag {name} in {self._slug}"), read)
        except IssueMissing:
            return None

    def has_commit(self, commit: str) -> bool:
        call = self._call("look for", f"commit {commit} in {self._slug}")
        try:
            self._ask(call, lambda: self._repository.get_git_commit(commit).sha)
        except (IssueMissing, Rejected):
            # 422: it is no SHA; 409: there are no commits yet.
            return False
        return True

    # -- writing ---------------------------------------------------------------------------------------

    def create_issue(self, title: str, body: str, labels: Sequence[str]) -> Issue:
        call = self._call("open an issue in", self._about, is_write=True)
        made = self._ask(call, lambda: _issue(self._repository.create_issue(title, body, labels=list(labels))))
        self._check_stored(call, body, made.body)
        return made

    def edit_issue(self, number: int, *, body: str | None = None, state: IssueState | None = None) -> Issue:
        """Changes what is given and nothing else. A closed issue is closed as completed."""
        changes: dict[str, Any] = {"body": body} if body is not None else {}
        if state is not None:
            changes |= {"state": state, "state_reason": "completed" if state == "closed" else "reopened"}

        def edit() -> Issue:
            there = self._repository.get_issue(number)
            there.edit(**changes)
            return _issue(there)

        call = self._call("change", self._named(number), is_write=True)
        issue = self._same_place(call, self._ask(call, edit), number)
        if body is not None:
            self._check_stored(call, body, issue.body)
        if state is not None and issue.state != state:
            self._not_stored(call, f"it should be {state}, but is {issue.state}")
        return issue

    def post_comment(self, number: int, body: str) -> Comment:
        call = self._call("comment on", self._named(number), is_write=True)
        made = self._ask(call, lambda: _comment(self._repository.get_issue(number).create_comment(body)))
        self._check_stored(call, body, made.body)
        return made

    def edit_comment(self, comment_id: int, body: str) -> Comment:
        def edit() -> Comment:
            there = self._at(comment_id)
            there.edit(body)
            return _comment(there)

        call = self._call("edit", self._told(comment_id), is_write=True)
        comment = self._ask(call, edit)
        self._check_stored(call, body, comment.body)
        return comment

    def delete_comment(self, comment_id: int) -> None:
        """One that is gone already is no error."""
        try:
            self._ask(self._call("delete", self._told(comment_id), is_write=True), self._at(comment_id).delete)
        except IssueMissing:
            return

    def create_tag(self, name: str, commit: str, message: str) -> None:
        """An annotated tag: the object and its ref."""

        def create() -> None:
            made = self._repository.create_git_tag(name, message, commit, "commit")
            self._repository.create_git_ref(f"refs/tags/{name}", _text(made.sha))

        self._ask(self._call(f"make the tag {name} in", self._about, is_write=True), create)

    # -- what they have in common ----------------------------------------------------------------------

    @property
    def _about(self) -> str:
        return f"repository {self._slug}"

    def _named(self, number: int) -> str:
        return f"issue {self._slug}#{number}"

    def _told(self, comment_id: int) -> str:
        return f"comment {comment_id} in {self._slug}"

    def _at(self, comment_id: int) -> IssueComment:
        # (The address of a comment does not name its issue.)
        return self._repository.get_issue(0).get_comment(comment_id)

    def _call(self, verb: str, about: str, *, is_write: bool = False) -> Call:
        return Call(doing=f"{verb} {about}", about=about, is_write=is_write)

    def _ask(self, call: Call, do: Callable[[], T]) -> T:
        """What `do` answers; raises what an answer that is no success means."""
        with self._patience(call):
            outcome = self._outcome(call, do)
        # Raised here and not where an exception of the library is at hand: that one knows the token.
        if isinstance(outcome, RemoteError):
            raise outcome
        return outcome

    def _outcome(self, call: Call, do: Callable[[], T]) -> T | RemoteError:
        try:
            return do()
        except GithubException as error:
            said = _message(error.data)
            if self._token is not None:
                # A page of some server in between may hold the request it is about.
                said = said.replace(self._token, "[token]")
            return refusal(error.status, error.headers or {}, one_line(said), call, self._host)
        except OSError as error:
            return self._broken(call, error)
        except EndlessList:
            return no_answer(call, self._host, f"its list does not end: there are more than {MOST_PAGES} pages")
        except Exception as error:  # noqa: BLE001 - PyGithub raises of every kind for an answer that is not GitHub's
            if "server redirected from" in str(error):
                return no_answer(call, self._host, "it redirects to another host, and a token goes only to its own")
            return no_answer(call, self._host, "its answer cannot be read: is this the address of the API?")

    def _broken(self, call: Call, error: OSError) -> RemoteError:
        """The network, or TLS, gave up."""
        reason = getattr(error.args[0] if error.args else None, "reason", None)
        if isinstance(error, SSLError):
            found = re.search(r"certificate verify failed: ([^(]+)", str(error))
            return Unreachable(
                f"{self._host.name} could not prove its identity",
                cause=f"its certificate was not accepted: {one_line(found[1]) if found else 'TLS failed'}",
                hint="if the host has a certificate of its own, name it in REQUESTS_CA_BUNDLE, then:"
                f" {self._host.again}",
            )
        if isinstance(error, ConnectTimeout | ProxyError) or isinstance(reason, NewConnectionError):
            cause = "no connection: the host is down, its name or port is wrong, or the network is down"
            return Unreachable(
                f"{self._host.name} cannot be reached", cause=cause, hint=f"try again later: {self._host.again}"
            )
        timed_out = isinstance(error, Timeout) or isinstance(reason, ReadTimeoutError)
        return no_answer(
            call, self._host, f"none came within {self._timeout_s:g} s" if timed_out else "the connection broke"
        )

    @contextmanager
    def _patience(self, call: Call) -> Iterator[None]:
        """Says what is being waited for, from time to time, while it lasts."""
        done, began = threading.Event(), time.monotonic()

        def speak() -> None:
            while not done.wait(SAY_EVERY_S):
                self._say(
                    f"waiting for {self._host.name} to {call.doing}: {time.monotonic() - began:.0f} s so far, "
                    f"at most {self._timeout_s:g} s for each answer"
                )

        speaker = threading.Thread(target=speak, daemon=True)
        speaker.start()
        try:
            yield
        finally:
            done.set()
            speaker.join()

    def _check_stored(self, call: Call, sent: str, stored: str) -> None:
        if normalised(sent) != normalised(stored):
            here, there = (len(text.encode("utf-8", "replace")) for text in (sent, stored))
            self._not_stored(call, f"{here} bytes were sent, but {there} different bytes are stored")

    def _not_stored(self, call: Call, cause: str) -> NoReturn:
        message = (
            f"not stored as sent: {self._host.name} accepted the request to {call.doing}, but stored something else"
        )
        raise Rejected(message, cause=cause, hint=f"look at the issue, then: {self._host.again}")

    def _same_place(self, call: Call, issue: Issue, number: int) -> Issue:
        """The issue. Raises IssueMoved for one of another repository or number: reads follow a moved issue."""
        found = re.search(r"/([^/]+/[^/]+)/(?:issues|pull)/(\d+)$", urlsplit(issue.url).path)
        if found is None or (found[1].casefold(), int(found[2])) != (self._slug.casefold(), number):
            raise moved(call, self._host, issue.url)
        return issue


class EndlessList(Exception):
    """A list with more pages than there can be."""


def _all(listed: PaginatedList[L]) -> Iterator[L]:
    """The items of all pages. Raises EndlessList, where PyGithub would follow the pages for ever."""
    for _ in range(MOST_PAGES):
        if not listed._couldGrow():
            return
        yield from listed._grow()
    raise EndlessList


# What PyGithub holds, as the plan takes it. These raise ValueError or TypeError for data that is not GitHub's.


def _issue(found: GithubIssue) -> Issue:
    return Issue(
        number=_whole(found.number),
        url=_address(found.html_url),
        title=_text(found.title),
        body=_text(found.body or ""),
        author=_author(found),
        state="closed" if found.state == "closed" else "open",
        locked=bool(found.locked),
    )


def _comment(found: IssueComment) -> Comment:
    return Comment(
        id=_whole(found.id),
        url=_address(found.html_url),
        author=_author(found),
        body=_text(found.body or ""),
        association=_text(found.author_association or ""),
    )


def _author(found: GithubIssue | IssueComment) -> str:
    return _GHOST if found.user is None else _login(found.user.login)


def _login(value: object) -> str:
    """The name of an account; it is shown."""
    name = _text(value)
    if not LOGIN.fullmatch(name):
        raise ValueError("no login")
    return name


def _whole(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError("no number")
    return value


def _text(value: object) -> str:
    """Raises ValueError for text that is no Unicode: it could not be sent back as it was."""
    if not isinstance(value, str):
        raise TypeError("no text")
    value.encode()
    return value


def _address(value: object) -> str:
    """An address with nothing in it that a terminal obeys."""
    found = _text(value)
    if not re.fullmatch(r"https?://[!-~]{1,2000}", found):
        raise ValueError("no address")
    return found


def _message(data: Any) -> str:
    """What the server says; "" when it says nothing that can be read."""
    if not isinstance(data, dict):
        return ""
    errors = data.get("errors")
    parts = [data.get("message")]
    for error in errors if isinstance(errors, list) else []:
        words = error.get("message") if isinstance(error, dict) else error
        parts.append(words or " ".join(str(error.get(key, "")) for key in ("resource", "field", "code")))
    return "; ".join(part.strip() for part in parts if isinstance(part, str) and part.strip())
