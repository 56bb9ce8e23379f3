"""When the next request may be sent: the pace of writes, and waits after a refusal or a lost answer.

GitHub allows 80 writes a minute and 500 an hour, and asks for a second between two of them. No wait over 5 s is
silent, and all waits together, apart from the second between two writes, have one bound.
"""

from __future__ import annotations

import math
import shlex
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from logbook_agent.issue import marking
from logbook_agent.issue.marking import normalised
from logbook_agent.issue.steps import Comment, Issue
from logbook_agent.model.errors import AnswerLost, IssueMissing, RateLimited, RemoteError, Unreachable
from logbook_agent.text.fit import size

if TYPE_CHECKING:
    from logbook_agent.issue.github import GitHub

# Most writes within so many seconds.
WINDOWS = ((80, 60.0), (500, 3600.0))
MAX_WAIT_S = 900.0
_FIRST_BACK_OFF_S = 60.0
_LONGEST_BACK_OFF_S = 30 * 86_400.0
_LONGEST_UNSURE_S = 30.0
_SILENT_S = 5.0
_REPEAT_S = 30.0
_SLICE_S = 1.0


@dataclass(kw_only=True)
class Pace:
    """`clock` counts seconds and never goes back; `say` takes one line; `max_wait_s` bounds the sum of all waits.

    `pause_s`: between the starts of two writes; not counted as a wait. `utc`: the time people read. `again`: what
    the user types to go on later. `waited_s`: all waits so far but those between two writes.
    """

    say: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    max_wait_s: float = MAX_WAIT_S
    pause_s: float = 1.0
    utc: Callable[[], datetime] = lambda: datetime.now(UTC)
    again: str = "logbook sync"
    waited_s: float = 0.0
    _writes: deque[float] = field(default_factory=lambda: deque(maxlen=max(most for most, _ in WINDOWS)))
    _refusals: int = 0
    _losses: int = 0

    def before_write(self) -> None:
        """Returns when a write may be sent, and counts it. Raises RateLimited when that is too far off."""
        now = self.clock()
        spaced = max(now, self._writes[-1] + self.pause_s) if self._writes else now
        allowed, cause = spaced, ""
        for most, within_s in WINDOWS:
            if len(self._writes) >= most and self._writes[-most] + within_s > allowed:
                allowed = self._writes[-most] + within_s
                cause = f"the host allows {most} writes in {within_s / 60:g} min"
        if allowed > spaced:
            self._wait(allowed - now, cause, RateLimited, counted_s=allowed - spaced)
        elif spaced > now:
            self._pause(spaced - now, f"writes are sent {_length(self.pause_s)} apart")
        self._writes.append(self.clock())

    def back_off(self, error: RateLimited) -> None:
        """Waits as long as the server asked, else a minute, and twice as long after each further refusal.

        Raises RateLimited when all waits together would become too long.
        """
        self._refusals += 1
        doubled = 2.0 ** min(self._refusals - 1, 20)
        # A server that asks for no time at all and refuses again is asked less and less often.
        least_s = min(doubled, _FIRST_BACK_OFF_S)
        wait_s = _FIRST_BACK_OFF_S * doubled if error.wait_s is None else max(least_s, error.wait_s)
        self._wait(min(wait_s, _LONGEST_BACK_OFF_S), error.message, RateLimited)

    def unsure(self, cause: str = "the host gave no answer") -> None:
        """Waits before reading again after an answer that was lost: 1, 2, 4, ... up to 30 s.

        Raises Unreachable when all waits together would become too long.
        """
        wait_s = min(2.0 ** min(self._losses, 20), _LONGEST_UNSURE_S)
        self._losses += 1
        self._wait(wait_s, cause, Unreachable)

    def succeeded(self) -> None:
        """The host took a request: the next refusal or loss counts as the first."""
        self._refusals = self._losses = 0

    def _wait(
        self,
        wait_s: float,
        cause: str,
        refused: type[RateLimited] | type[Unreachable],
        *,
        counted_s: float | None = None,
    ) -> None:
        total_s = self.waited_s + (wait_s if counted_s is None else counted_s)
        if total_s > self.max_wait_s:
            raise self._too_long(wait_s, total_s, cause, refused)
        self.waited_s = total_s
        self._pause(wait_s, cause)

    def _pause(self, wait_s: float, cause: str) -> None:
        """Sleeps in short slices, so that Ctrl-C is heard at once wherever this runs."""
        if wait_s > _SILENT_S:
            self.say(f"waiting {_length(wait_s)}, until {self._at(wait_s)}: {cause}")
        left_s, silent_s = wait_s, 0.0
        while left_s > 0:
            slice_s = min(left_s, _SLICE_S)
            self.sleep(slice_s)
            left_s -= slice_s
            silent_s += slice_s
            if silent_s >= _REPEAT_S and left_s > _SILENT_S:
                self.say(f"still waiting, {_length(left_s)} to go: {cause}")
                silent_s = 0.0

    def _too_long(
        self, wait_s: float, total_s: float, cause: str, refused: type[RateLimited] | type[Unreachable]
    ) -> RemoteError:
        message = f"the next request has to wait {_length(wait_s)}, and --max-wait allows {_length(self.max_wait_s)}"
        if self.waited_s:
            message += f", of which {_length(self.waited_s)} are used up"
        cause = f"{cause}; what is left to do is kept"
        hint = f"at {self._at(wait_s)} (in {_length(wait_s)}): {self.again}"
        hint += f"; or wait for it: {with_max_wait(self.again, math.ceil(total_s / 60))}"
        error = refused(message, cause=cause, hint=hint)
        if isinstance(error, RateLimited):
            error.wait_s = wait_s
        return error

    def _at(self, wait_s: float) -> str:
        then = self.utc() + timedelta(seconds=math.ceil(wait_s))
        today = then.date() == self.utc().date()
        return then.strftime("%H:%M:%S UTC" if today else "%Y-%m-%d %H:%M UTC")


def with_max_wait(command: str, minutes: int) -> str:
    """The command line with a longer `--max-wait`: behind its own options (the last one counts), and before the `--`
    that begins a command to be measured."""
    words = shlex.split(command)
    end = words.index("--") if "--" in words else len(words)
    return shlex.join([*words[:end], "--max-wait", f"{minutes}m", *words[end:]])


def _length(seconds: float) -> str:
    """Rounded up to whole seconds: `45 s`, `4 min 05 s`, `2 h 10 min`."""
    whole = math.ceil(seconds)
    if whole < 120:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s" if rest else f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60:02d} min"


T = TypeVar("T")

# Answers lost in one command before it gives up and leaves the rest to the next.
_MOST_LOST = 8
# Edits of one comment that the host refused as not found, while its list had the comment.
_MOST_MISSED = 3


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


@dataclass(kw_only=True)
class IssueComments:
    """The comments of one issue as this command knows them. A list of the host may lag behind: a comment that was
    confirmed is there, and one that was deleted is not."""

    calls: Calls
    number: int
    _confirmed: dict[int, Comment] = field(default_factory=dict)
    _deleted: set[int] = field(default_factory=set)
    _missed: Counter[int] = field(default_factory=Counter)

    def read(self) -> list[Comment]:
        listed = {c.id: c for c in self.calls.reading(lambda: self.calls.remote.comments(self.number))}
        return [c for c in (self._confirmed | listed).values() if c.id not in self._deleted]

    def post(self, text: str) -> Comment:
        return self._keep(self.calls.writing(lambda: self.calls.remote.post_comment(self.number, text)))

    def edit(self, comment_id: int, *, old: str, new: str) -> Comment:
        """Replace the text of a comment. Raises Unreachable when it is not `old` any more, or not there: the next list
        decides."""

        # GitHub has no write that is refused when the text has changed since it was read. So a text is read again right
        # before it is written, after all waits. One request is left to lose an edit in.
        def write() -> Comment:
            there = self.calls.reading(lambda: self.calls.remote.comment(comment_id))
            if normalised(there.body) != normalised(old):
                raise Unreachable(
                    f"comment {comment_id} was edited while it was synced", cause="somebody else edited it"
                )
            return self.calls.remote.edit_comment(comment_id, new)

        try:
            return self._keep(self.calls.writing(write))
        except IssueMissing as error:
            # Removed since it was read, by another machine for example; or the host is wrong.
            self._confirmed.pop(comment_id, None)
            self._missed[comment_id] += 1
            if self._missed[comment_id] >= _MOST_MISSED:
                error.hint = f"check that the token may edit this comment, then: {self.calls.pace.again}"
                raise
            raise Unreachable(f"comment {comment_id} was not found", cause=error.cause, hint=error.hint) from None

    def delete(self, comment_id: int) -> None:
        self.calls.writing(lambda: self.calls.remote.delete_comment(comment_id))
        self._deleted.add(comment_id)

    def _keep(self, comment: Comment) -> Comment:
        self._confirmed[comment.id] = comment
        return comment


def write_block(calls: Calls, number: int, *, book: str, text: str) -> Issue:
    """Replace the block in an issue's body, or add it, and leave the rest as it is at this moment."""

    def write() -> Issue:
        body = marking.spliced(calls.reading(lambda: calls.remote.issue(number)).body, book, text)
        if size(body) > marking.LIMIT_BYTES:
            raise Unreachable("people wrote in the issue while it was synced", cause="the block has less room now")
        return calls.remote.edit_issue(number, body=body)

    return calls.writing(write)
