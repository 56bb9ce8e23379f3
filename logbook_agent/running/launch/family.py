"""The processes that a command has started, also those that left its process group and its session.

A process belongs to a command if it has the command's mark in its environment, which children inherit; if it is in the
command's process group; or if it descends from the command. A worker also becomes the parent of processes whose own
parents ended (`adopt`), so it finds those without the mark, too. `end_group` ends a command that nobody watches.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from typing import TYPE_CHECKING

from logbook_agent.model.errors import StoreError
from logbook_agent.running.launch.process import Graces
from logbook_agent.running.launch.signals import Ladder
from logbook_agent.store.processes import group_lives, group_of, marked

if TYPE_CHECKING:
    from psutil import Process

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


# -- ending a command that nobody watches any more ---------------------------------------------------


_PAUSE_S = 0.02


def end_group(group: int, mark: str, *, graces: Graces | None = None) -> int | None:
    """Signals to all processes of a command until they have ended; the last signal, None when they ended before the
    first. `group` is the command's process group, and `mark` what its processes carry.

    Raises StoreError when one does not end or belongs to another user.
    """
    if not group_lives(group, mark):
        return None
    family = Family(group, mark)
    last: int | None = None
    ladder = Ladder(graces or Graces())
    ladder.begin(time.monotonic())
    while family.members():
        now = time.monotonic()
        if ladder.exhausted(now):
            raise StoreError(
                f"process {group} does not end",
                cause="it was sent SIGKILL, but the kernel has not ended it yet",
                hint=f"look at it: ps -o stat,wchan,cmd -p {group}",
            )
        due = ladder.due(now)
        if due is not None:
            last = due
            _signal_or_raise(family, due)
        time.sleep(_PAUSE_S)
    return last


def _signal_or_raise(family: Family, number: int) -> None:
    pid = family.leader
    try:
        family.signal(number)
    except PermissionError as error:
        raise StoreError(
            f"process {pid} cannot be ended: {error.strerror}",
            cause="another user started it",
            hint=f"as that user: kill -INT -- -{pid}",
        ) from error
