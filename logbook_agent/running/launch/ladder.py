"""When to send which signal to a process group that is to end: ask, insist, kill. Pure."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from logbook_agent.running.launch.job import Graces


@dataclass(frozen=True, slots=True)
class Step:
    signal: int
    grace_s: float


def steps(graces: Graces) -> tuple[Step, ...]:
    return (
        Step(signal.SIGINT, graces.interrupt_s),
        Step(signal.SIGTERM, graces.terminate_s),
        Step(signal.SIGKILL, graces.kill_s),
    )


class Ladder:
    """Begun once; `due` gives each signal when its turn has come, `hurry` goes straight to the last."""

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self._steps = steps
        self._next = 0
        self._at: float | None = None

    @property
    def begun(self) -> bool:
        return self._at is not None

    def begin(self, now: float) -> None:
        if self._at is None:
            self._at = now

    def hurry(self, now: float) -> None:
        self._next = max(self._next, len(self._steps) - 1)
        self._at = now if self._next < len(self._steps) else self._at

    def due(self, now: float) -> int | None:
        """The signal to send now, if any; the next one is due when its grace is over."""
        if self._at is None or now < self._at or self._next == len(self._steps):
            return None
        step = self._steps[self._next]
        self._next += 1
        self._at = now + step.grace_s
        return step.signal

    def exhausted(self, now: float) -> bool:
        """Whether even the last grace is over."""
        return self._next == len(self._steps) and self._at is not None and now >= self._at

    def wait_s(self, now: float) -> float | None:
        """How long until something is due."""
        return None if self._at is None else max(0.0, self._at - now)
