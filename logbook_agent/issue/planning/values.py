"""An issue and its comments, as read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

IssueState = Literal["open", "closed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """`author` and the authors of comments are login names; `body` is what the server holds, to the byte."""

    number: int
    url: str
    title: str
    body: str
    author: str
    state: IssueState = "open"
    locked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """IDs ascend with the time a comment was made."""

    id: int
    url: str
    author: str
    body: str
