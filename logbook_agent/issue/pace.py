"""When the next request may be sent: the pace of writes, and waits after a refusal or a lost answer.

GitHub allows 80 writes a minute and 500 an hour, and asks for a second between two of them. No wait over 5 s is
silent, and all waits together, apart from the second between two writes, have one bound.
"""

from __future__ import annotations

import math
import shlex
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from msgspec import Struct, field

from logbook_agent.model.errors import AnswerLost, RateLimited, RemoteError, Unreachable

T = TypeVar("T")

# Most writes within so many seconds.
WINDOWS = ((80, 60.0), (500, 3600.0))
MAX_WAIT_S = 900.0
# Seconds between the starts of two writes, as GitHub asks.
PAUSE_S = 1.0
# Lost answers in a row before a command gives up.
MOST_LOST = 3
_FIRST_BACK_OFF_S = 60.0
_LONGEST_BACK_OFF_S = 30 * 86_400.0
_SILENT_S = 5.0


class Stale(Exception):
    """What was read to plan a write is no longer there; `error` says so to the user if it happens again and again."""

    def __init__(self, error: RemoteError) -> None:
        super().__init__(error.message)
        self.error = error


class Pace(Struct, kw_only=True):
    """The waits of one command. `say` takes one line; `again` is what the user types to continue later; `max_wait_s`
    bounds `waited_s`, the sum of all waits but those between two writes. `clock` counts seconds and never goes back."""

    say: Callable[[str], None]
    again: str = "logbook sync"
    max_wait_s: float = MAX_WAIT_S
    pause_s: float = field(default_factory=lambda: PAUSE_S)
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    utc: Callable[[], datetime] = lambda: datetime.now(UTC)
    waited_s: float = 0.0
    _writes: deque[float] = field(default_factory=lambda: deque(maxlen=max(most for most, _ in WINDOWS)))
    _refusals: int = 0
    _losses: int = 0

    def reading(self, call: Callable[[], T]) -> T:
        """The answer to a read, which is sent again after a refusal for now or a lost answer."""
        lost = 0
        while True:
            try:
                return call()
            except RateLimited as error:
                self.back_off(error)
            except Unreachable as error:
                lost += 1
                self._wait_unsure(lost, error)

    def writing(self, call: Callable[[], T]) -> T:
        """The answer to a write, which is sent again only if it was refused for now. Raises AnswerLost when its fate
        is unknown: `safely` reads before anything is written again."""
        while True:
            self.before_write()
            try:
                answer = call()
            except RateLimited as error:
                self.back_off(error)
            else:
                self.succeeded()
                return answer

    def safely(self, call: Callable[[], T]) -> T:
        """The result of a call that reads before it writes, from its start after each lost answer; three of them in a
        row end it."""
        while True:
            try:
                result = call()
            except (AnswerLost, Stale) as error:
                lost = error.error if isinstance(error, Stale) else error
                self._losses += 1
                if isinstance(error, AnswerLost) and self._losses > MOST_LOST:
                    message = f"gave up after {self._losses} lost answers: {lost.message}"
                    hint = f"once the host answers again: {self.again}"
                    raise Unreachable(message, cause=lost.cause, hint=hint) from None
                self._wait_unsure(self._losses, lost)
                self.say(f"{lost.message}; reading the issue again")
            else:
                self.succeeded()
                return result

    def before_write(self) -> None:
        """Returns when a write may be sent, and counts it. Raises RateLimited when that is too far off."""
        now = self.clock()
        spaced = max(now, self._writes[-1] + self.pause_s) if self._writes else now
        allowed, cause = spaced, "writes are sent apart"
        for most, within_s in WINDOWS:
            if len(self._writes) >= most and self._writes[-most] + within_s > allowed:
                allowed = self._writes[-most] + within_s
                cause = f"the host allows {most} writes in {within_s / 60:g} min"
        self._wait(allowed - now, cause, RateLimited, counted_s=allowed - spaced)
        self._writes.append(self.clock())

    def back_off(self, error: RateLimited) -> None:
        """Waits as long as the server asked, else a minute, and twice as long after each further refusal; also one that
        asks for no time at all is asked less and less often.

        Raises RateLimited when all waits together would become too long.
        """
        doubled = 2.0 ** min(self._refusals, 20)
        self._refusals += 1
        wait_s = _FIRST_BACK_OFF_S * doubled
        if error.wait_s is not None:
            wait_s = max(min(doubled, _FIRST_BACK_OFF_S), error.wait_s)
        self._wait(min(wait_s, _LONGEST_BACK_OFF_S), error.message, RateLimited)

    def _wait_unsure(self, lost: int, error: RemoteError) -> None:
        """Waits before reading again after an answer that was lost: 1, 2, 4 s. Raises the error after more of them."""
        if lost > MOST_LOST:
            raise error from None
        self._wait(2.0 ** (lost - 1), error.message, Unreachable)

    def succeeded(self) -> None:
        """The host took a write, or has one whose answer was lost: the next refusal or loss counts as the first."""
        self._refusals = self._losses = 0

    def _wait(
        self, wait_s: float, cause: str, refused: type[RateLimited | Unreachable], *, counted_s: float | None = None
    ) -> None:
        """Sleeps in short slices, so that Ctrl-C is heard at once, and says what for. Raises `refused` instead where
        all waits would become too long."""
        total_s = self.waited_s + (wait_s if counted_s is None else counted_s)
        if total_s > self.max_wait_s:
            raise self._too_long(wait_s, total_s, cause, refused)
        self.waited_s = total_s
        if wait_s > _SILENT_S:
            self.say(f"waiting {_length(wait_s)}, until {self._at(wait_s)}: {cause}")
        while wait_s > 0:
            self.sleep(min(wait_s, 1.0))
            wait_s -= 1.0

    def _too_long(
        self, wait_s: float, total_s: float, cause: str, refused: type[RateLimited | Unreachable]
    ) -> RemoteError:
        message = f"the next request has to wait {_length(wait_s)}, and --max-wait allows {_length(self.max_wait_s)}"
        message += f", of which {_length(self.waited_s)} are used up" if self.waited_s else ""
        words = shlex.split(self.again)
        # Behind its own options (the last one counts), and before the `--` that begins a command to be measured.
        end = words.index("--") if "--" in words else len(words)
        longer = shlex.join([*words[:end], "--max-wait", f"{math.ceil(total_s / 60)}m", *words[end:]])
        hint = f"at {self._at(wait_s)} (in {_length(wait_s)}): {self.again}; or wait for it: {longer}"
        error = refused(message, cause=f"{cause}; what is left to do is kept", hint=hint)
        if isinstance(error, RateLimited):
            error.wait_s = wait_s
        return error

    def _at(self, wait_s: float) -> str:
        now = self.utc()
        then = now + timedelta(seconds=math.ceil(wait_s))
        return then.strftime("%H:%M:%S UTC" if then.date() == now.date() else "%Y-%m-%d %H:%M UTC")


def _length(seconds: float) -> str:
    """Rounded up to whole seconds: `45 s`, `4 min 05 s`, `2 h 10 min`."""
    whole = math.ceil(seconds)
    if whole < 120:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s" if rest else f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60:02d} min"
