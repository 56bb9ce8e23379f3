"""An issue tracker as a value, for the model of plan and apply: no network, so that every interleaving and every
lost answer can be had. What PyGithub and a server over HTTP do is tested against the emulator, in
tests/contract/issue."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from msgspec.structs import replace

from logbook_agent.issue.marking import normalised
from logbook_agent.issue.pace import Pace, Stale
from logbook_agent.issue.values import Comment, Issue
from logbook_agent.model.errors import AnswerLost, IssueMissing, RateLimited, Unreachable

T = TypeVar("T")


class Killed(BaseException):
    """The process died at this request."""


@dataclass
class Server:
    """One repository. `writes` counts what was applied."""

    issues: dict[int, Issue] = field(default_factory=dict)
    comments: dict[int, Comment] = field(default_factory=dict)
    writes: int = 0
    members: tuple[str, ...] = ("ada", "bob")
    ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def add_issue(self, author: str, title: str, body: str) -> Issue:
        number = next(self.numbers)
        self.issues[number] = Issue(
            number=number, url=f"https://h/o/r/issues/{number}", title=title, body=body, author=author
        )
        return self.issues[number]

    def add_comment(self, author: str, body: str) -> Comment:
        number = next(self.ids)
        self.comments[number] = Comment(
            id=number,
            url=f"https://h/o/r/issues/1#c{number}",
            author=author,
            body=body,
            association="MEMBER" if author in self.members else "NONE",
        )
        return self.comments[number]


# What befalls a write: before (500, not applied), after (applied, answer lost), limited (403, not applied), and the
# process killed before or after it was applied.
FAULTS = ("before", "after", "limited", "killed_before", "killed_after")


@dataclass
class Client:
    """One machine's way to the server. `faults`: by the number of the write, what befalls it. `turn` is called
    before every request: tests interleave two clients with it."""

    server: Server
    user: str
    faults: dict[int, str] = field(default_factory=dict)
    turn: Callable[[], None] = lambda: None
    reads: int = 0
    sent: int = 0
    pace: Pace = field(default_factory=lambda: Pace(say=lambda _: None))

    def _read(self, call: Callable[[], T]) -> T:
        self.turn()
        self.reads += 1
        return call()

    def _write(self, call: Callable[[], T]) -> T:
        return self.pace.writing(lambda: self._sent(call))

    def _sent(self, call: Callable[[], T]) -> T:
        self.turn()
        self.sent += 1
        fault = self.faults.get(self.sent)
        if fault == "killed_before":
            raise Killed
        if fault == "before":
            raise AnswerLost("500")
        if fault == "limited":
            raise RateLimited("403 secondary", wait_s=None)
        answer = call()
        self.server.writes += 1
        if fault == "killed_after":
            raise Killed
        if fault == "after":
            raise AnswerLost("502")
        return answer

    def login(self) -> str:
        return self._read(lambda: self.user)

    def issue(self, number: int) -> Issue:
        return self._read(lambda: self.server.issues[number])

    def comments(self, number: int) -> tuple[Comment, ...]:
        assert number == 1
        return self._read(lambda: tuple(self.server.comments.values()))

    def _change(self, number: int, **changes: object) -> Issue:
        self.server.issues[number] = replace(self.server.issues[number], **changes)  # type: ignore[arg-type]
        return self.server.issues[number]

    def edit_body(self, number: int, change: Callable[[str], str]) -> Issue:
        def write() -> Issue:
            body = change(self._read(lambda: self.server.issues[number]).body)
            return self._sent(lambda: self._change(number, body=body))

        return self.pace.writing(write)

    def post_comment(self, number: int, body: str) -> Comment:
        return self._write(lambda: self.server.add_comment(self.user, body))

    def edit_comment(self, comment_id: int, *, old: str, new: str) -> Comment:
        def look() -> Comment:
            if comment_id not in self.server.comments:
                raise Stale(IssueMissing("404"))
            return self.server.comments[comment_id]

        def edit() -> Comment:
            self.server.comments[comment_id] = replace(look(), body=new)
            return self.server.comments[comment_id]

        def write() -> Comment:
            if normalised(self._read(look).body) != normalised(old):
                raise Stale(Unreachable("it was edited"))
            return self._sent(edit)

        return self.pace.writing(write)

    def delete_comment(self, comment_id: int, *, old: str) -> None:
        def write() -> Comment | None:
            there = self._read(lambda: self.server.comments.get(comment_id))
            if there is not None and normalised(there.body) != normalised(old):
                raise Stale(Unreachable("it was edited"))
            return self._sent(lambda: self.server.comments.pop(comment_id, None))

        self.pace.writing(write)
