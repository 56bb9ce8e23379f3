"""When the next request may be sent: the pace of writes, and waits after a refusal or a lost answer.

GitHub allows 80 writes a minute and 500 an hour, and asks for a second between two of them. No wait over 5 s is
silent, and all waits together, apart from the second between two writes, have one bound.
"""

from __future__ import annotations

import itertools
import math
import shlex
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from msgspec import Struct, field

from logbook_agent.model.errors import AnswerLost, RateLimited, RemoteError, Unreachable
from logbook_agent.text.phrases import duration

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
# While an answer does not come.
SAY_EVERY_S = 4.5


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
        for lost in itertools.count(1):
            try:
                return self._allowed(call)
            except Unreachable as error:
                self._wait_unsure(lost, error)
        raise AssertionError("no answer")

    def writing(self, call: Callable[[], T]) -> T:
        """The answer to a write, which is sent again only if it was refused for now. Raises AnswerLost when its fate
        is unknown: `safely` reads before anything is written again."""

        def sent() -> T:
            self.before_write()
            return call()

        answer = self._allowed(sent)
        self.succeeded()
        return answer

    def _allowed(self, call: Callable[[], T]) -> T:
        """The answer of a host that refuses nothing for now."""
        while True:
            try:
                return call()
            except RateLimited as error:
                self.back_off(error)

    def safely(self, call: Callable[[], T]) -> T:
        """The result of a call that reads before it writes, from its start after each lost answer, and after one
        that tells of a text that somebody else changed; the fourth lost answer in a row ends it."""
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
        """Wait until a write may be sent, and count it. Raises RateLimited when that is too far off."""
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
        """Waits as long as the server asked, else a minute, and twice as long after each further refusal; so a server
        that asks for no time at all is asked ever less often.

        Raises RateLimited when all waits together would become too long.
        """
        doubled = 2.0 ** min(self._refusals, 20)
        self._refusals += 1
        wait_s = _FIRST_BACK_OFF_S * doubled
        if error.wait_s is not None:
            wait_s = max(min(doubled, _FIRST_BACK_OFF_S), error.wait_s)
        self._wait(min(wait_s, _LONGEST_BACK_OFF_S), error.message, RateLimited)

    @contextmanager
    def patience(self, what: str, timeout_s: float) -> Iterator[None]:
        """Says what is being waited for, from time to time, while it lasts."""
        done, began = threading.Event(), time.monotonic()

        def speak() -> None:
            while not done.wait(SAY_EVERY_S):
                so_far = f"{time.monotonic() - began:.0f} s so far, at most {timeout_s:g} s for each answer"
                self.say(f"waiting for {what}: {so_far}")

        speaker = threading.Thread(target=speak, daemon=True)
        speaker.start()
        try:
            yield
        finally:
            done.set()
            speaker.join()

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
    return f"{whole} s" if whole < 120 else duration(whole).removesuffix(" 00 s")


def wait_asked_s(headers: Mapping[str, str], now: float) -> float | None:
    """Retry-After, else until the reset of the used-up limit; None when the server does not say. `now`: Unix time."""
    later, reset = headers.get("retry-after", ""), headers.get("x-ratelimit-reset", "")
    if later.isdecimal():
        return float(later)
    if headers.get("x-ratelimit-remaining") == "0" and reset.isdecimal():
        return max(0.0, float(reset) - now)
    return None
