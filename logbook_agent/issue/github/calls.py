"""Requests at the pace the server allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from logbook_agent.issue.github.pace import Pace
from logbook_agent.model.errors import AnswerLost, RateLimited, RemoteError, Unreachable

if TYPE_CHECKING:
    from logbook_agent.issue.github.github import GitHub

T = TypeVar("T")

# Answers lost in one command before it gives up and leaves the rest to the next.
_MOST_LOST = 8


@dataclass(kw_only=True)
class Calls:
    """The requests of one command. `say` tells the user what happens; `lost` counts answers that never came.

    `again`: what the user types to go on later.
    """

    remote: GitHub
    pace: Pace
    say: Callable[[str], None]
    lost: int = 0
    again: str = "logbook sync"

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
                hint=f"{self.again} continues from here once the host answers again",
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
