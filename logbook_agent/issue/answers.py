"""What PyGithub holds after an answer, as values, and what it means when the network gives up.

The readers of values raise ValueError or TypeError for data that is not GitHub's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeVar

from github.GithubObject import GithubObject
from github.Issue import Issue as GithubIssue
from github.IssueComment import IssueComment
from github.PaginatedList import PaginatedList
from requests.exceptions import ConnectTimeout, ProxyError, SSLError, Timeout
from urllib3.exceptions import NewConnectionError, ReadTimeoutError

from logbook_agent.issue.refusals import Request, no_answer, one_line
from logbook_agent.issue.values import Comment, Issue
from logbook_agent.model.errors import RemoteError, Unreachable

# GitHub takes 2,500 comments on an issue. A list with more pages than this has no end: they link to one another.
MOST_PAGES = 300
LOGIN = r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}(?:\[bot\])?"
_URL = r"https?://[!-~]{1,2000}"

L = TypeVar("L", bound=GithubObject)


def broken(call: Request, error: OSError, timeout_s: float) -> RemoteError:
    """The network, or TLS, gave up."""
    reason = getattr(error.args[0] if error.args else None, "reason", None)
    if isinstance(error, SSLError):
        found = re.search(r"certificate verify failed: ([^(]+)", str(error))
        return Unreachable(
            f"{call.host} could not prove its identity",
            cause=f"its certificate was not accepted: {one_line(found[1]) if found else 'TLS failed'}",
            hint=f"if the host has a certificate of its own, name it in REQUESTS_CA_BUNDLE, then: {call.again}",
        )
    if isinstance(error, ConnectTimeout | ProxyError) or isinstance(reason, NewConnectionError):
        cause = "no connection: the host is down, its name or port is wrong, or the network is down"
        return Unreachable(f"{call.host} cannot be reached", cause=cause, hint=f"try again later: {call.again}")
    is_timeout = isinstance(error, Timeout) or isinstance(reason, ReadTimeoutError)
    return no_answer(call, f"none came within {timeout_s:g} s" if is_timeout else "the connection broke")


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
