"""Ending a command that nobody watches any more."""

from __future__ import annotations

import time
from collections.abc import Callable

from logbook_agent.model.errors import StoreError
from logbook_agent.model.run import Process
from logbook_agent.running.launch.family import Family, mark_of
from logbook_agent.running.launch.process import Graces
from logbook_agent.running.launch.signals import Ladder
from logbook_agent.store.processes import alive

_PAUSE_S = 0.02


def end_group(
    child: Process,
    mark: str | None = None,
    *,
    graces: Graces | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> int | None:
    """Signals to all processes of a command until they have ended; the last signal, None when they ended before the
    first. `child` is the command's own process, `mark` what the others carry (None: what `child` carries).

    Raises StoreError when one does not end or belongs to another user, or when `child` may be another process by now.
    """
    if child.started is None:
        raise StoreError(
            f"process {child.pid} is not ended",
            cause="the record does not say when it was started, so this may be another one",
            hint=f"look at it: ps -o lstart,cmd -p {child.pid}; to end it: kill -INT -- -{child.pid}",
        )
    family = Family(child.pid, mark_of(child.pid) if mark is None else mark)
    last: int | None = None
    ladder = Ladder(graces or Graces())
    ladder.begin(clock())
    while alive(child.pid, child.started) or (last is not None and family.members()):
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
            _send(family, due)
        sleep(_PAUSE_S)
    return last


def _send(family: Family, number: int) -> None:
    pid = family.leader
    try:
        family.signal(number)
    except PermissionError as error:
        raise StoreError(
            f"process {pid} cannot be ended: {error.strerror}",
            cause="another user started it",
            hint=f"as that user: kill -INT -- -{pid}",
        ) from error
