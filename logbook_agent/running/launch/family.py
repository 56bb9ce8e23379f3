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
from collections.abc import Iterator
from dataclasses import dataclass

from logbook_agent.model.errors import StoreError
from logbook_agent.running.launch.process import Graces
from logbook_agent.running.launch.signals import Ladder
from logbook_agent.store.processes import HAS_PROC, MARK, group_lives, of_process, variables_of

_PR_SET_CHILD_SUBREAPER = 36
# Whether processes whose parents have ended become children of this one.
_adopts = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A process of a command: the `name` of its program, and when it `started`, in ticks since the boot. `is_over`: it
    is a zombie."""

    pid: int
    name: str
    group: int
    started: int
    parent: int = 0
    is_over: bool = False

    def __str__(self) -> str:
        return f"{self.name} (pid {self.pid})"


class Family:
    """The processes of a command; `leader` is the pid of the first. Processes that left its group are found only with a
    mark, and only on systems with /proc."""

    def __init__(self, leader: int, mark: str = "") -> None:
        self.leader, self._mark = leader, f"{MARK}={mark}".encode() if mark else None
        found = _found(leader)
        self._since = found.started if found is not None else 0
        # Members by pid, with their starts: whoever was one stays one when its parent ends.
        self._known: dict[int, int] = {leader: self._since}

    def members(self) -> list[Member]:
        """The members that live now, without zombies."""
        if not HAS_PROC:
            alive = _group_lives(self.leader)
            return [Member(pid=self.leader, name="its process group", group=self.leader, started=0)] if alive else []
        # A process that is older than the command was not started by it.
        young = {one.pid: one for one in _processes() if one.started >= self._since}
        found = []
        for pid, one in young.items():
            if pid != os.getpid() and self._belongs(one, young):
                self._known[pid] = one.started
                if not one.is_over:
                    found.append(one)
        return found

    def signal(self, number: int) -> None:
        """Send a signal to each member. Raises PermissionError where the command belongs to another user."""
        outside = [one.pid for one in self.members() if one.group != self.leader]
        _send(-self.leader, number)
        for pid in outside:
            with contextlib.suppress(PermissionError):
                _send(pid, number)

    def _belongs(self, one: Member, young: dict[int, Member]) -> bool:
        if one.group == self.leader:
            return True
        at: Member | None = one
        while at is not None:
            if self._known.get(at.pid) == at.started or (_adopts and at.parent == os.getpid()):
                return True
            at = young.get(at.parent)
        return self._mark is not None and self._mark in variables_of(one.pid)


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


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
        if number == signal.SIGTERM:
            # A stopped process gets its signal only when it goes on.
            os.kill(pid, signal.SIGCONT)


def _processes() -> Iterator[Member]:
    for name in os.listdir("/proc"):  # noqa: PTH208 - at every end of a command
        if name.isdigit() and (found := _found(int(name))) is not None:
            yield found


def _found(pid: int) -> Member | None:
    head, _, rest = of_process(pid, "stat").decode(errors="replace").rpartition(")")
    fields = rest.split(maxsplit=20)
    if len(fields) < 20:
        return None
    return Member(
        pid=pid,
        name=head.partition("(")[2],
        group=int(fields[2]),
        started=int(fields[19]),
        parent=int(fields[1]),
        is_over=fields[0] in ("Z", "X"),
    )


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
