"""When the next request may be sent: the pace of writes, and waits after a refusal or a lost answer.

GitHub allows 80 writes a minute and 500 an hour, and asks for a second between two of them. No wait over 5 s is
silent, and all waits together, apart from the second between two writes, have one bound.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from logbook_agent.model.errors import RateLimited, RemoteError, Unreachable

# Most writes within so many seconds.
WINDOWS = ((80, 60.0), (500, 3600.0))
MAX_WAIT_S = 900.0
_FIRST_BACK_OFF_S = 60.0
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
        self._wait(wait_s, error.message, RateLimited)

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
        if not math.isfinite(total_s):
            return refused(message, cause=cause, hint=f"try again later: {self.again}")
        hint = f"at {self._at(wait_s)} (in {_length(wait_s)}): {self.again}"
        hint += f"; or wait for it: {self.again} --max-wait {math.ceil(total_s / 60)}m"
        error = refused(message, cause=cause, hint=hint)
        if isinstance(error, RateLimited):
            error.wait_s = wait_s
        return error

    def _at(self, wait_s: float) -> str:
        try:
            then = self.utc() + timedelta(seconds=math.ceil(wait_s))
        except OverflowError:
            return "an unknown time"
        today = then.date() == self.utc().date()
        return then.strftime("%H:%M:%S UTC" if today else "%Y-%m-%d %H:%M UTC")


def _length(seconds: float) -> str:
    """Rounded up to whole seconds: `45 s`, `4 min 05 s`, `2 h 10 min`."""
    if not math.isfinite(seconds):
        return "for ever"
    whole = math.ceil(seconds)
    if whole < 120:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s" if rest else f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60:02d} min"
