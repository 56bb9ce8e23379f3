"""Requests to stop the tool (Ctrl-C, TERM, HUP), caught instead of obeyed while commands run; and when to send which
signal to a process group that is to end: ask, insist, kill."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from logbook_agent.running.launch.process import Graces
from logbook_agent.store.processes import group_of, marked

if TYPE_CHECKING:
    from psutil import Process

_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequests:
    """Counts requests to stop; `wakeup` becomes readable on any signal, so that a `select` ends at once.

    Only the main thread can catch signals; elsewhere nothing is caught and `wakeup` is never readable.
    A signal that is ignored already (`nohup`, a background job) stays ignored. Who makes a series of runs holds them
    over all of it, and looks at `count` before each: what comes between two runs is no less a request.
    """

    def __init__(self) -> None:
        self.count = 0
        self.last = 0
        self._taken = 0
        self.wakeup, self._write = os.pipe()
        os.set_blocking(self.wakeup, False)
        os.set_blocking(self._write, False)
        self._before: dict[int, Any] = {}
        self._wakeup_before = -1

    def __enter__(self) -> StopRequests:
        if threading.current_thread() is threading.main_thread():
            self._wakeup_before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
            for number in _STOPS:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._catch(number, self._count)
            # The default would not wake anyone; an inherited "ignore" would lose the exit status.
            self._catch(signal.SIGCHLD, lambda number, frame: None)
        return self

    def _catch(self, number: int, handler: Callable[[int, FrameType | None], None]) -> None:
        self._before[number] = signal.signal(number, handler)

    def _count(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        self.last = number

    def take(self) -> bool:
        """Whether a request came since the last call. Each request ends only commands that run when it is taken."""
        asked = self.count > self._taken
        self._taken = self.count
        return asked

    def clear_wakeup(self) -> None:
        try:
            while os.read(self.wakeup, 512):
                pass
        except BlockingIOError:
            pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            # None: a handler that was not installed from Python, which cannot be put back.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        if self._before:
            signal.set_wakeup_fd(self._wakeup_before)
        os.close(self.wakeup)
        os.close(self._write)


# -- when to send which ----------------------------------------------------------------------------


class Ladder:
    """The signals that end a process group, in turn: `due` gives each signal when its turn has come, `hurry` goes
    straight to the last."""

    def __init__(self, graces: Graces) -> None:
        self._steps = (
            (signal.SIGINT, graces.interrupt_s),
            (signal.SIGTERM, graces.terminate_s),
            (signal.SIGKILL, graces.kill_s),
        )
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
        number, grace_s = self._steps[self._next]
        self._next += 1
        self._at = now + grace_s
        return number

    def exhausted(self, now: float) -> bool:
        """Whether even the last grace is over."""
        return self._next == len(self._steps) and self._at is not None and now >= self._at

    @property
    def has_killed(self) -> bool:
        return self._next == len(self._steps)

    def wait_s(self, now: float) -> float | None:
        """How long until something is due."""
        return None if self._at is None else max(0.0, self._at - now)


# -- a process that outlives its terminal ------------------------------------------------------------


# What a shell may have had ignored, by `nohup` or in the background, and the command would inherit.
_RESET = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD)


def own_session() -> None:
    """Signals as a fresh process has them, and a session of its own, which no terminal ends."""
    for number in _RESET:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if os.getsid(0) != os.getpid() and os.getpgid(0) != os.getpid():
        os.setsid()


# -- the processes of a command --------------------------------------------------------------------


_PR_SET_CHILD_SUBREAPER = 36
# Whether processes whose parents have ended become children of this one.
_adopts = False


class Family:
    """The processes of a command; `leader` is the pid of the first."""

    def __init__(self, leader: int, mark: str = "") -> None:
        self.leader, self._mark = leader, mark
        # Whoever was a member stays one when its parent ends.
        self._known: set[Process] = set()

    def members(self) -> list[Process]:
        """The members that live now, without zombies, with their names in `info`."""
        roots = marked(self._mark)
        if not (roots or self._known or _group_lives(self.leader) or _has_children()):
            return []  # as after most commands, at a fraction of the time that the import takes
        import psutil

        running = {p.pid: p for p in psutil.process_iter(["ppid", "name", "status"]) if p.pid != os.getpid()}
        found = {pid for pid, process in running.items() if pid in roots or self._is_root(process)}
        while more := {pid for pid, process in running.items() if process.info["ppid"] in found} - found:
            found |= more
        self._known = {running[pid] for pid in found}
        over = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
        return [running[pid] for pid in sorted(found) if running[pid].info["status"] not in over]

    def _is_root(self, process: Process) -> bool:
        is_adopted = _adopts and process.info["ppid"] == os.getpid()
        return is_adopted or process in self._known or group_of(process.pid) == self.leader

    def signal(self, number: int) -> None:
        """Send a signal to each member. Raises PermissionError where the command belongs to another user."""
        outside = [one.pid for one in self.members() if group_of(one.pid) != self.leader]
        _send(-self.leader, number)
        for pid in outside:
            with contextlib.suppress(PermissionError):
                _send(pid, number)


def described(process: Process) -> str:
    """A member as a problem names it."""
    return f"{process.info['name']} (pid {process.pid})"


def adopt() -> None:
    """Become the parent of descendants whose own parents end. Only for a process that executes one command and nothing
    else; has no effect except on Linux."""
    import ctypes

    global _adopts
    _adopts = sys.platform == "linux" and ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1) == 0


def reap_adopted(leader: int) -> None:
    """Wait for the adopted processes that have ended: else they stay as zombies. `leader` is waited for by others."""
    while _adopts:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if ended is None or ended.si_pid == leader:
            return
        with contextlib.suppress(ChildProcessError):
            os.waitpid(ended.si_pid, 0)


def _has_children() -> bool:
    """Whether this process has adopted some that nobody has waited for."""
    if not _adopts:
        return False
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
        if number == signal.SIGTERM:
            # A stopped process gets its signal only when it goes on.
            os.kill(pid, signal.SIGCONT)


def _group_lives(leader: int) -> bool:
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        # macOS: nothing but zombies.
        return sys.platform != "darwin"
    return True
