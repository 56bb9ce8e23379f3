"""The loop around one running command: its output, its end, and the requests to end it."""

from __future__ import annotations

import contextlib
import math
import os
import selectors
import signal
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import IO, TYPE_CHECKING, cast

from msgspec import structs

from logbook_agent.model.worker_report import Exit
from logbook_agent.running.launch.process import Child, Ended, Graces, Job, JobOutcome, Sinks, Stream, start
from logbook_agent.running.launch.signals import Family, Ladder, StopRequests, described, reap_adopted
from logbook_agent.text.phrases import listed

if TYPE_CHECKING:
    from psutil import Process

# Two signals within this time are one request.
_DOUBLE_S = 0.2
_READ_BYTES = 64 * 1024
# How long nothing has to come before `idle` is called.
_IDLE_S = 0.15
# A signal that ended the child may be for the tool, too, which then sees it a little later.
_SAME_SIGNAL_S = 0.05
_STOPS = ("SIGINT", "SIGTERM", "SIGHUP")
# How often a child is looked for that closed its output, where no signal tells of its end.
_POLL_S = 0.02
# What is still read of a pipe when its time is over: more than it can hold, and not endless.
_LAST_READ_BYTES = 2 * 1024 * 1024
# Of processes that outlived a command, so many are named.
_NAMED = 8
_UNKNOWN_LEFT = "a process that the command started outlived it"

Clock = Callable[[], float]
_GRACES = Graces()


def execute(
    job: Job,
    sinks: Sinks,
    *,
    stops: StopRequests | None = None,
    clock: Clock = time.monotonic,
    graces: Graces = _GRACES,
) -> JobOutcome:
    """Runs the job to its end and reports to `sinks` meanwhile.

    Ctrl-C, TERM and HUP to the tool, and the job's limits, end its whole process group: INT, then TERM, then
    KILL; a second Ctrl-C kills at once. `stops` are the requests that the caller holds already.

    Raises ToolError (or CommandNotFound, NotExecutable) when it cannot be started; what a sink raises is passed on
    after the group was killed.
    """
    with StopRequests() if stops is None else nullcontext(stops) as held:
        child = start(job)
        loop = _Loop(job, child, sinks, held, clock, graces)
        try:
            sinks.started(child.pid)
            return loop.run()
        except BaseException:
            loop.abandon()
            raise
        finally:
            loop.close()


class _Loop:
    def __init__(self, job: Job, child: Child, sinks: Sinks, stops: StopRequests, clock: Clock, graces: Graces) -> None:
        self._family = Family(child.pid, job.mark)
        self._left: list[Process] = []
        self._child, self._sinks, self._stops, self._clock = child, sinks, stops, clock
        self._graces = graces
        self._ladder = Ladder(graces)
        self._began = clock()
        self._job, self._deadline = job, self._began + (job.timeout_s or math.inf)
        self._last_output = self._last_read = self._began
        self._ended: Ended | None = None
        self._ended_at = self._began
        self._asked_at = -_DOUBLE_S
        self._timeout = self._interrupted = self._stalled = self._is_left = False
        self._selector = selectors.DefaultSelector()
        self._selector.register(stops.wakeup, selectors.EVENT_READ)
        self._open = 0
        for stream, pipe in (("stdout", child.stdout), ("stderr", child.stderr)):
            self._selector.register(pipe, selectors.EVENT_READ, stream)
            self._open += 1

    def run(self) -> JobOutcome:
        while True:
            now = self._clock()
            self._look_for_stops(now)
            due = self._ladder.due(now)
            if due is not None:
                self._signal(due)
            if self._is_over(now):
                break
            self._turn(self._wait_s(now))
        held = self._read_rest()
        return self._outcome(held)

    def _turn(self, wait_s: float) -> None:
        """Waits for output or a signal, hands on what came, and looks whether the child has ended."""
        for key, _ in self._selector.select(wait_s):
            if key.data is None:
                self._stops.clear_wakeup()
            else:
                self._read(cast("IO[bytes]", key.fileobj), key.data)
        now = self._clock()
        if now - self._last_output >= _IDLE_S:
            self._last_output = now
            self._sinks.idle()
        if self._ended is None:
            self._ended = self._child.reap()
            self._ended_at = now
        reap_adopted(self._child.pid)

    def _look_for_stops(self, now: float) -> None:
        asked = self._stops.take()
        # One request may come as two signals (to the tool and to its group): those belong together.
        again = asked and self._stops.last == signal.SIGINT and now - self._asked_at >= _DOUBLE_S
        # An engine sends its signal to the tool and the command at once: who is quicker does not matter.
        is_same = asked and self._ended is not None and self._ended.exit.signal == signal.Signals(self._stops.last).name
        if asked and (self._ended is None or is_same) and not self._timeout:
            self._interrupted = True
        if asked:
            self._asked_at = now
        if now >= (due := self._due()) and self._ended is None and not self._ladder.begun:
            # Only the first cause counts: a child that takes its time after Ctrl-C has not timed out.
            self._timeout, self._stalled = True, due < self._deadline
        is_late = asked and self._ended is not None and not is_same
        if self._ladder.begun and (again or is_late):
            self._ladder.hurry(now)
        # After the child's own end nothing is ended: what it left was left on purpose.
        self._is_left = self._is_left or (is_late and not self._ladder.begun)
        if self._timeout or self._interrupted:
            self._ladder.begin(now)

    def _due(self) -> float:
        """When a limit ends the child, if it prints nothing until then."""
        return min(self._deadline, self._last_read + (self._job.stall_s or math.inf))

    def _is_over(self, now: float) -> bool:
        if self._ended is None:
            return False
        if self._timeout or self._interrupted:
            self._left = self._family.members()
            if self._left and not self._ladder.exhausted(now):
                if self._ladder.has_killed:
                    self._signal(signal.SIGKILL)  # who was started meanwhile
                return False
        elif self._is_left:
            return True
        elif self._ended.exit.signal in _STOPS and now - self._ended_at < _SAME_SIGNAL_S:
            return False
        is_drained = now - self._ended_at >= self._graces.drain_s
        # A process that ends with its parent may take a moment for it.
        self._left = self._family.members()
        return is_drained or (self._open == 0 and not self._left)

    def _wait_s(self, now: float) -> float:
        waits = [_IDLE_S]
        if self._open == 0 or self._ended is not None:
            waits.append(_POLL_S)
        if not self._ladder.begun:
            waits.append(max(0.0, self._due() - now))
        ladder_wait = self._ladder.wait_s(now)
        if ladder_wait is not None:
            waits.append(max(ladder_wait, 0.001))
        return min(waits)

    def _read(self, pipe: IO[bytes], stream: Stream) -> int:
        """Hands on one read; the number of bytes, 0 at the end, -1 when there is nothing now."""
        try:
            data = os.read(pipe.fileno(), _READ_BYTES)
        except BlockingIOError:
            return -1
        if not data:
            self._selector.unregister(pipe)
            self._open -= 1
            return 0
        self._last_output = self._last_read = self._clock()
        self._sinks.output(stream, data)
        return len(data)

    def _read_rest(self) -> bool:
        """What the pipes still hold, without waiting; whether somebody else still holds them open."""
        for key in list(self._selector.get_map().values()):
            read = 0
            while key.data is not None and read < _LAST_READ_BYTES:
                count = self._read(cast("IO[bytes]", key.fileobj), key.data)
                if count <= 0:
                    break
                read += count
        return self._open > 0

    def _outcome(self, held: bool) -> JobOutcome:
        assert self._ended is not None  # noqa: S101
        problems = self._left_behind(held)
        if self._ended.exit == Exit():
            problems.append("the exit status of the command was lost: another part of the tool collected it")
        problems += self._job.pipe_problems(self._ended.exit)
        return JobOutcome(
            exit=structs.replace(
                self._ended.exit, timeout=self._timeout, stalled=self._stalled, interrupted=self._interrupted
            ),
            duration_s=self._ended_at - self._began,
            peak_memory_bytes=self._ended.peak_memory_bytes,
            problems=tuple(problems),
        )

    def _left_behind(self, held: bool) -> list[str]:
        """Problems that name processes which outlived the command. `held`: one of them still held its output."""
        left = self._left
        if not left and not held:
            return []
        names = listed([described(one) for one in left], _NAMED)
        if self._timeout or self._interrupted:
            return [f"still alive after the command was killed: {names}"] if left else []
        who = f"processes that the command started outlived it: {names}" if left else _UNKNOWN_LEFT
        return [f"{who}; output that they wrote later was not recorded" if held else who]

    def _signal(self, number: int) -> None:
        with contextlib.suppress(PermissionError):
            self._family.signal(number)

    def abandon(self) -> None:
        """Kills the command, because it can no longer be watched."""
        self._signal(signal.SIGKILL)
        until = time.monotonic() + self._graces.kill_s
        while self._ended is None and time.monotonic() < until:
            self._ended = self._child.reap()
            time.sleep(_POLL_S if self._ended is None else 0)

    def close(self) -> None:
        self._selector.close()
        self._child.close()
