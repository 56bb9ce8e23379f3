"""What is asked of GitHub's REST API, and what its answers say."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from logbook_agent.issue.planning.values import Comment, Issue
from logbook_agent.text.redaction.redactor import by_shape

# An account that was deleted leaves its texts to this one.
GHOST = "ghost"
_LONGEST = 300
_LONGEST_URL = 2_000
_URL = re.compile(r"https?://[!-~]+")
LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}(?:\[bot\])?")
# What reading an answer of another shape raises: readers below raise these and nothing else.
UNREADABLE = (KeyError, ValueError, TypeError, AttributeError)
_NEXT = re.compile(r'<([^>]*)>\s*;[^,]*\brel="?next"?')


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueHost:
    """`name` as people know it. What a user types after an error: `again` to go on, `preview` to see what would be
    sent, and `options`, what each further command needs to be about the same logbook, such as " -L moe".
    """

    name: str = "github.com"
    has_token: bool = True
    again: str = "logbook sync"
    preview: str = "logbook sync --dry-run"
    options: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request. `about`: its object, such as "issue ada/moe#5"; `doing`: what is done with it, "comment on ..."."""

    method: str
    path: str
    doing: str
    about: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, object] | None = None

    @property
    def is_write(self) -> bool:
        return self.method != "GET"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostAnswer:
    """`headers` have names in lower case."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def data(self) -> Any:
        """Raises ValueError where the text is not JSON, or is nested deeper than anything of GitHub's."""
        try:
            return json.loads(self.text)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error

    @property
    def message(self) -> str:
        """What the server says, in one line; "" when it says nothing that can be read."""
        try:
            data = self.data
        except ValueError:
            return ""
        if not isinstance(data, dict):
            return ""
        parts = [data.get("message")]
        errors = data.get("errors")
        for error in errors if isinstance(errors, list) else []:
            parts.append(_error(error) if isinstance(error, dict) else error)
        return one_line("; ".join(part.strip() for part in parts if isinstance(part, str) and part.strip()))

    @property
    def next_page(self) -> dict[str, str] | None:
        """The parameters of the page that follows. The rest of its address is not used: it may lead elsewhere.

        Raises ValueError for an address that is none.
        """
        found = _NEXT.search(self.headers.get("link", ""))
        return dict(parse_qsl(urlsplit(found[1]).query)) if found else None


def one_line(text: str) -> str:
    """A text of the server for a message: one line, bounded, with nothing in it that a terminal obeys."""
    plain = " ".join("".join(c if c.isprintable() else " " for c in text[: 10 * _LONGEST]).split())
    plain = by_shape().text(plain)  # a secret that is cut is no longer known as one
    return plain if len(plain) <= _LONGEST else plain[:_LONGEST] + "…"


def _error(error: Mapping[str, object]) -> str:
    """One of the errors of a 422: in words, or the code and the field it stands for."""
    words = error.get("message")
    return one_line(str(words) if words else " ".join(str(error.get(key, "")) for key in ("resource", "field", "code")))


# The readers raise one of UNREADABLE for data of another shape.


def issue(data: Any) -> Issue:
    return Issue(
        number=_whole(data["number"]),
        url=_url(data["html_url"]),
        title=_text(data["title"]),
        body=_body(data["body"]),
        author=author(data),
        state="closed" if data["state"] == "closed" else "open",
        locked=bool(data.get("locked")),
    )


def comment(data: Any, comment_id: int | None = None) -> Comment:
    """`comment_id`: the one that was asked for."""
    found = Comment(id=_whole(data["id"]), url=_url(data["html_url"]), author=author(data), body=_body(data["body"]))
    if comment_id is not None and found.id != comment_id:
        raise ValueError(f"comment {found.id} where {comment_id} was asked for")
    return found


def tagged(data: Any) -> tuple[str, str]:
    """Kind and SHA of what a ref or a tag object leads to."""
    return _text(data["object"]["type"]), sha(data["object"])


def sha(data: Any) -> str:
    found = _text(data["sha"])
    if not re.fullmatch(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", found):
        raise ValueError("no SHA")
    return found


def author(data: Any) -> str:
    return login(data["user"]) if data.get("user") else GHOST


def login(data: Any) -> str:
    """It is kept in the header and shown."""
    found = _text(data["login"])
    if not LOGIN.fullmatch(found):
        raise ValueError("no login")
    return found


def _body(body: object) -> str:
    """As it is: what people wrote keeps the line ends of their browser. An empty body may be null."""
    return "" if body is None else _text(body)


def _text(value: object) -> str:
    """Raises ValueError for one that is no Unicode: it could not be sent back as it was."""
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} where a text was expected")
    value.encode()
    return value


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise TypeError("no number of an issue or comment")
    return value


def _url(value: object) -> str:
    """An address as browsers take it, with nothing in it that a terminal obeys."""
    found = _text(value)
    if len(found) > _LONGEST_URL or not _URL.fullmatch(found):
        raise ValueError("no address")
    return found
