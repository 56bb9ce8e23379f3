"""Ending the process group of a command that nobody watches any more."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

from logbook_agent.model.errors import StoreError
from logbook_agent.model.run import Process
from logbook_agent.running.launch.process import Graces, signal_group
from logbook_agent.running.launch.signals import Ladder
from logbook_agent.store.processes import alive

_PAUSE_S = 0.02


def end_group(
    child: Process,
    *,
    graces: Graces | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> int | None:
    """Signals to the group that `child` leads until it has ended; the last signal, None when it ended before the
    first. Raises StoreError when it does not end, belongs to another user, or may be another process by now."""
    if child.started is None:
        raise StoreError(
            f"process {child.pid} is not ended",
            cause="the record does not say when it was started, so this may be another one",
            hint=f"look at it: ps -o lstart,cmd -p {child.pid}; to end it: kill -INT -- -{child.pid}",
        )
    last: int | None = None
    ladder = Ladder(graces or Graces())
    ladder.begin(clock())
    while alive(child.pid, child.started):
        now = clock()
        if ladder.exhausted(now):
            raise StoreError(
                f"process {child.pid} does not end",
                cause="it was killed, and the kernel has not let go of it",
                hint=f"look at it: ps -o stat,wchan,cmd -p {child.pid}",
            )
        due = ladder.due(now)
        if due is not None:
            last = due
            _send(child.pid, due)
        sleep(_PAUSE_S)
    # The leader is gone; what is left of its group has had its warning.
    _send(child.pid, signal.SIGKILL)
    return last


def _send(pid: int, number: int) -> None:
    """Every command has a group of its own, named by the command's pid."""
    try:
        signal_group(pid, number)
    except PermissionError as error:
        raise StoreError(
            f"process {pid} cannot be ended: {error.strerror}",
            cause="another user started it",
            hint=f"as that user: kill -INT -- -{pid}",
        ) from error
