"""What is asked of GitHub's REST API, and what its answers say."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from logbook_agent.issues.values import Comment, Issue

# An account that was deleted leaves its texts to this one.
GHOST = "ghost"
_LONGEST = 300
_NEXT = re.compile(r'<([^>]*)>\s*;[^,]*\brel="?next"?')


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """What a user types after an error: `again` to go on, `preview` to see what would be sent.

    `options`: what each further command needs to be about the same logbook, such as " -L moe".
    """

    again: str = "logbook sync"
    preview: str = "logbook sync --dry-run"
    options: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """`name` as people know it."""

    name: str
    has_token: bool
    typed: Typed = Typed()

    @property
    def again(self) -> str:
        """What a user types to go on."""
        return self.typed.again

    @property
    def variable(self) -> str:
        """Where a token for it is looked for first."""
        return "GH_TOKEN" if self.name == "github.com" else "GH_ENTERPRISE_TOKEN"


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
class Answer:
    """`headers` have names in lower case."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def data(self) -> Any:
        """Raises ValueError where the text is no JSON."""
        return json.loads(self.text)

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
        text = "; ".join(" ".join(part.split()) for part in parts if isinstance(part, str) and part.strip())
        return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"

    @property
    def next_page(self) -> dict[str, str] | None:
        """The parameters of the page that follows. The rest of its address is not used: it may lead elsewhere."""
        found = _NEXT.search(self.headers.get("link", ""))
        return dict(parse_qsl(urlsplit(found[1]).query)) if found else None


def _error(error: Mapping[str, object]) -> str:
    """One of the errors of a 422: in words, or the code and the field it stands for."""
    words = error.get("message")
    return str(words) if words else " ".join(str(error[key]) for key in ("resource", "field", "code") if key in error)


# The readers raise KeyError, TypeError, ValueError or AttributeError for data of another shape.


def issue(data: Any) -> Issue:
    return Issue(
        number=int(data["number"]),
        url=_text(data["html_url"]),
        title=_text(data["title"]),
        body=_body(data["body"]),
        author=author(data),
        state="closed" if data["state"] == "closed" else "open",
        locked=bool(data.get("locked")),
    )


def comment(data: Any) -> Comment:
    return Comment(id=int(data["id"]), url=_text(data["html_url"]), author=author(data), body=_body(data["body"]))


def tagged(data: Any) -> tuple[str, str]:
    """Kind and SHA of what a ref or a tag object leads to."""
    return _text(data["object"]["type"]), _text(data["object"]["sha"])


def author(data: Any) -> str:
    return _text(data["user"]["login"]) if data.get("user") else GHOST


def _body(body: object) -> str:
    """As it is: what people wrote keeps the line ends of their browser. An empty body may be null."""
    return "" if body is None else _text(body)


def plain_lines(text: str) -> str:
    """With "\\n" at the ends of lines."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} where a text was expected")
    return value


def same_text(sent: str, stored: str) -> bool:
    """But for the ends of lines, and blanks before them."""
    return [line.rstrip() for line in plain_lines(sent).rstrip().split("\n")] == [
        line.rstrip() for line in plain_lines(stored).rstrip().split("\n")
    ]
