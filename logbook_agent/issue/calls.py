"""Requests at the pace the server allows, and edits of texts that people may edit too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from logbook_agent.issue import block
from logbook_agent.issue.marking import normalised
from logbook_agent.issue.pace import Pace
from logbook_agent.issue.values import Comment, Issue
from logbook_agent.model.errors import AnswerLost, RateLimited, RemoteError, Unreachable
from logbook_agent.text.fit import size

if TYPE_CHECKING:
    from logbook_agent.issue.github import GitHub

T = TypeVar("T")

# Answers lost in one command before it gives up and leaves the rest to the next.
_MOST_LOST = 8


@dataclass(kw_only=True)
class Calls:
    """The requests of one command. `say` tells the user what happens; `lost` counts answers that never came."""

    remote: GitHub
    pace: Pace
    say: Callable[[str], None]
    lost: int = 0

    def reading(self, call: Callable[[], T]) -> T:
        """A read, again when the server asks to wait."""
        while True:
            try:
                return call()
            except RateLimited as error:
                self.pace.back_off(error)

    def writing(self, call: Callable[[], T]) -> T:
        """A write, again when it was refused for now: then it was not applied. Raises AnswerLost when its fate is
        unknown; only who has read again may write it again."""
        while True:
            self.pace.before_write()
            try:
                answer = call()
            except RateLimited as error:
                self.pace.back_off(error)
            else:
                self.pace.succeeded()
                return answer

    def lose(self, error: AnswerLost | Unreachable) -> None:
        """Count an answer that was lost and wait a moment. Raises the RemoteError that ends it when there were
        too many."""
        self.lost += 1
        if self.lost >= _MOST_LOST:
            raise Unreachable(
                f"gave up after {self.lost} requests without an answer: {error.message}",
                cause=error.cause,
                hint=f"{self.pace.again} continues from here once the host answers again",
            )
        self.say(f"{error.message}; reading the issue again")
        self.pace.unsure(error.message)

    def safely(self, call: Callable[[], T]) -> T:
        """A call of reads and writes that may be made again from its start, until its answers are not lost."""
        while True:
            try:
                return call()
            except (AnswerLost, Unreachable) as error:
                self.lose(error)


def with_progress(error: RemoteError, done: int) -> RemoteError:
    """The error, saying also how far the command came, if it did."""
    if not done:
        return error
    made = "1 write was" if done == 1 else f"{done} writes were"
    told = f"{made} made before"
    if "what is left" not in error.cause:
        told += "; what is left stays in the plan"
    error.cause = f"{error.cause}; {told}" if error.cause else told
    return error


# GitHub has no write that is refused when the text has changed since it was read. So a text is read again right before
# it is written, after all waits, and what has changed by then is left alone. One request is left to lose an edit in.


def edit_comment(calls: Calls, comment_id: int, *, old: str, new: str) -> Comment:
    """Replace the text of a comment. Raises Unreachable when it is not `old` any more: to be planned again."""

    def write() -> Comment:
        there = calls.reading(lambda: calls.remote.comment(comment_id))
        if normalised(there.body) != normalised(old):
            raise Unreachable(f"comment {comment_id} was edited while it was synced", cause="somebody else edited it")
        return calls.remote.edit_comment(comment_id, new)

    return calls.writing(write)


def write_block(calls: Calls, number: int, *, book: str, text: str) -> Issue:
    """Replace the block in an issue's body, or add it, and leave the rest as it is at this moment."""

    def write() -> Issue:
        body = block.spliced(calls.reading(lambda: calls.remote.issue(number)).body, book, text)
        if size(body) > block.LIMIT_BYTES:
            raise Unreachable("people wrote in the issue while it was synced", cause="the block has less room now")
        return calls.remote.edit_issue(number, body=body)

    return calls.writing(write)
