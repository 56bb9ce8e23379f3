"""What an answer of GitHub means: the values that PyGithub holds after it, and of one that is no success which error it
is, how long to wait, what to do next.

The readers of values raise ValueError or TypeError for data that is not GitHub's.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from shlex import quote
from typing import Any, TypeVar

from github.GithubObject import GithubObject
from github.Issue import Issue as GithubIssue
from github.IssueComment import IssueComment
from github.PaginatedList import PaginatedList
from msgspec import Struct
from requests.exceptions import ConnectTimeout, ProxyError, SSLError, Timeout
from urllib3.exceptions import NewConnectionError, ReadTimeoutError

from logbook_agent.issue.pace import wait_asked_s
from logbook_agent.issue.token import variables
from logbook_agent.issue.values import Comment, Issue
from logbook_agent.model import errors as err
from logbook_agent.model.errors import RemoteError
from logbook_agent.text.phrases import visible
from logbook_agent.text.redaction.redactor import by_shape

# GitHub takes 2,500 comments on an issue. A list with more pages than this has no end: they link to one another.
MOST_PAGES = 300
LOGIN = r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}(?:\[bot\])?"
_URL = r"https?://[!-~]{1,2000}"
_LONGEST = 300
_LIMITS = re.compile(r"rate limit|abuse", re.IGNORECASE)
_LOCKED = re.compile(r"\b(is|was|been) locked\b|\blocked (issue|conversation)", re.IGNORECASE)

L = TypeVar("L", bound=GithubObject)


# -- values ----------------------------------------------------------------------------------------------


def all_of(listed: PaginatedList[L]) -> Iterator[L]:
    """The items of all pages. Raises ValueError for a list without an end, which PyGithub would follow for ever."""
    for _ in range(MOST_PAGES):
        if not listed._couldGrow():
            return
        yield from listed._grow()
    raise ValueError("a list without an end")


def issue_of(found: GithubIssue) -> Issue:
    return Issue(
        number=_whole(found.number),
        url=text_of(found.html_url, _URL),
        title=text_of(found.title),
        body=text_of(found.body or ""),
        author=_author(found),
        state="closed" if found.state == "closed" else "open",
        locked=bool(found.locked),
    )


def comment_of(found: IssueComment) -> Comment:
    return Comment(
        id=_whole(found.id),
        url=text_of(found.html_url, _URL),
        author=_author(found),
        body=text_of(found.body or ""),
        association=text_of(found.author_association or ""),
    )


def _author(found: GithubIssue | IssueComment) -> str:
    # An account that was deleted leaves its texts to this one.
    return "ghost" if found.user is None else text_of(found.user.login, LOGIN)


def _whole(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError("no number")
    return value


def text_of(value: object, form: str = "") -> str:
    """A text of this form. Raises ValueError also for text that is no Unicode: it could not be sent back as it was."""
    if not isinstance(value, str) or (form and not re.fullmatch(form, value)):
        raise ValueError("no text of this form")
    value.encode()
    return value


def message_of(data: Any) -> str:
    """What the server says; "" when it says nothing that can be read."""
    if not isinstance(data, dict):
        return ""
    errors = data.get("errors")
    parts = [data.get("message")]
    for error in errors if isinstance(errors, list) else []:
        words = error.get("message") if isinstance(error, dict) else error
        parts.append(words or " ".join(str(error.get(key, "")) for key in ("resource", "field", "code")))
    return "; ".join(part.strip() for part in parts if isinstance(part, str) and part.strip())


def one_line(text: str) -> str:
    """A text of the server for a message: one line, bounded, with nothing in it that a terminal obeys."""
    plain = by_shape().text(" ".join(visible(text[: 10 * _LONGEST]).split()))
    return plain if len(plain) <= _LONGEST else plain[:_LONGEST] + "…"


# -- errors ----------------------------------------------------------------------------------------------


class Request(Struct, frozen=True, kw_only=True):
    """One request as errors speak of it. `about`: its object, such as "issue ada/moe#5"; `doing`: what is done with
    it, "comment on ..."; `again`: the command that hints tell the user to type once the trouble is over."""

    doing: str
    about: str
    host: str
    again: str
    has_token: bool = True
    is_write: bool = False

    def refused(self, status: int, headers: Mapping[str, str], said: str) -> RemoteError:
        """The error for an answer that is no success; `said` is the message of the server, on one line."""
        host, variable = self.host, variables(self.host)[0]
        cause = said or f"it answered with {status}"
        if status >= 500 or status == 408 or status < 400:
            return self.unanswered(f"it answered with {status}{f': {said}' if said else ''}")
        if status == 429 or (status == 403 and _is_limit(headers, said)):
            wait_s = wait_asked_s(headers, time.time())
            hint = f"wait {f'{wait_s:.0f} s' if wait_s is not None else 'some minutes'}, then: {self.again}"
            return err.RateLimited(f"{host} takes no more requests for now", wait_s=wait_s, cause=cause, hint=hint)
        kind: type[RemoteError]
        if status == 401 and not self.has_token:
            kind, message, cause = err.NoToken, f"{host} needs a token", "none was found for this host"
            hint = f"set {variable} or type `gh auth login`"
        elif status == 401:
            kind, message = err.BadToken, f"{host} does not know the token"
            cause, hint = (
                "it is mistyped, expired or revoked, or belongs to another host",
                f"make a new one and set {variable}",
            )
        elif status == 403 and _LOCKED.search(said):
            kind, message = err.IssueLocked, f"{self.about} is locked"
            hint = "unlock the conversation, or use a token with write access to the repository"
        elif status == 403:
            kind, message = err.Forbidden, f"the token may not {self.doing}"
            hint = "give it write access to issues (and to contents, for tags)"
        elif status in (404, 410):
            kind, message = err.IssueMissing, f"{host} did not find {self.about}"
            seen = "this token may not see it" if self.has_token else "is private: there was no token to see it with"
            cause = f"it does not exist, was deleted, or {seen}"
            hint = "check the address, and that the token may see it (another issue: logbook link URL --replace)"
        else:
            kind, message = err.Rejected, f"{host} refused to {self.doing}"
            hint = "change what it refuses (sync --dry-run shows what is sent)"
        return kind(message, cause=cause, hint=f"{hint}, then: {self.again}")

    def broken(self, error: OSError, timeout_s: float) -> RemoteError:
        """The error where the network, or TLS, gave up."""
        reason = getattr(error.args[0] if error.args else None, "reason", None)
        if isinstance(error, SSLError):
            found = re.search(r"certificate verify failed: ([^(]+)", str(error))
            cause = f"its certificate was not accepted: {one_line(found[1]) if found else 'TLS failed'}"
            hint = f"if the host has a certificate of its own, name it in REQUESTS_CA_BUNDLE, then: {self.again}"
            return err.Unreachable(f"{self.host} could not prove its identity", cause=cause, hint=hint)
        if isinstance(error, ConnectTimeout | ProxyError) or isinstance(reason, NewConnectionError):
            cause = "no connection: the host is down, its name or port is wrong, or the network is down"
            return err.Unreachable(f"{self.host} cannot be reached", cause=cause, hint=f"try again later: {self.again}")
        is_timeout = isinstance(error, Timeout) or isinstance(reason, ReadTimeoutError)
        return self.unanswered(f"none came within {timeout_s:g} s" if is_timeout else "the connection broke")

    def unanswered(self, cause: str) -> RemoteError:
        """The error where no answer came, or one that says nothing. A write may have been applied."""
        if self.is_write:
            hint = f"it may or may not have been done; the next sync checks first: {self.again}"
            return err.AnswerLost(f"{self.host} did not confirm the request to {self.doing}", cause=cause, hint=hint)
        return err.Unreachable(
            f"{self.host} could not {self.doing}", cause=cause, hint=f"try again later: {self.again}"
        )

    def moved(self, url: str | None) -> err.IssueMoved:
        """`url`: where people find the issue now; None for a repository that has another name."""
        if url is None:
            return err.IssueMoved(
                f"{self.about} has another name or owner now",
                cause="the repository was renamed or moved",
                hint="use its current name: in logbook.toml ([github] repository), with --repo, or with"
                f" `git remote set-url`; then: {self.again}",
            )
        error = err.IssueMoved(
            f"{self.about} is now {url}",
            cause="the issue was transferred, or its repository renamed or moved",
            hint=f"logbook link {quote(url)} --replace; then: {self.again}",
        )
        error.url = url
        return error


def _is_limit(headers: Mapping[str, str], said: str) -> bool:
    used_up = headers.get("x-ratelimit-remaining") == "0"
    return "retry-after" in headers or used_up or _LIMITS.search(said) is not None
