"""One lock per logbook, held for milliseconds, that names who holds it."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from logbook_agent.model.errors import Locked
from logbook_agent.store.files import open_lock

_PAUSE_S = 0.005


@contextmanager
def locked(
    path: Path,
    *,
    within: Path,
    timeout_s: float = 30.0,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[None]:
    """Hold an exclusive lock on `path`. Raises Locked naming the holder after `timeout_s` seconds.

    The kernel releases the lock of a process that dies, so a dead holder never blocks anybody.
    """
    descriptor = open_lock(path, within=within)
    try:
        deadline = clock() + timeout_s
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if clock() >= deadline:
                    raise _held(path, descriptor) from None
                sleep(_PAUSE_S)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"pid {os.getpid()} on {os.uname().nodename}".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _held(path: Path, descriptor: int) -> Locked:
    holder = os.pread(descriptor, 200, 0).decode(errors="replace") or "an unknown process"
    return Locked(
        f"{path.parent.name} is locked by {holder}",
        holder=holder,
        cause="another logbook command has held the lock for too long; it may be stopped",
        hint="look at that process, end it if it hangs, and run the command again",
    )
