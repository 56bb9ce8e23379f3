"""A run that is made by a worker of its own waits until no other run uses its devices."""

from __future__ import annotations

import contextlib
import re
import select
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from logbook_agent.model.errors import StoreError, ToolError
from logbook_agent.running.launch.signals import StopRequests
from logbook_agent.running.provenance.machine import devices_of
from logbook_agent.running.worker.work import Work
from logbook_agent.store.device_queue import Queue, queue_folder

# The devices that runs take turns at, in place of those that are found; `none`: there is no queue.
DEVICES, NONE = "LOGBOOK_DEVICES", "none"
# How often is looked whether the run in front is over.
_PAUSE_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What a run that has its turn holds: descriptors that its command inherits, so that its devices are taken as long
    as it runs; the runs that were at no time beside it, since they need the same devices, and those that go on at
    others; and what went wrong."""

    keeps: tuple[int, ...] = ()
    apart: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def devices_needed(work: Work, environ: Mapping[str, str], root: Path = Path("/")) -> tuple[str, ...]:
    """The devices that the command may use, by the variables around it; none where there is no queue for it.

    `root` is the file system's root, which shows what devices there are.
    """
    if not work.takes_turns:
        return ()
    around = {**environ, **work.env}
    said = around.get(DEVICES)
    if said is None:
        return devices_of(around, root, work.devices)
    names = tuple(name for name in re.split(r"[,\s]+", said) if name)
    return () if names == (NONE,) else devices_of(around, root, names)


@contextlib.contextmanager
def turn(work: Work, environ: Mapping[str, str], stops: StopRequests, waits: Callable[[str], None]) -> Iterator[Turn]:
    """The turn of a run, until the block is left. While it waits, `waits` is told for what, again and again. Raises
    ToolError when it is to be stopped before its turn has come."""
    devices = devices_needed(work, environ)
    if not devices:
        yield Turn()
        return
    queue = Queue(folder=queue_folder(environ))
    with contextlib.ExitStack() as stack:
        try:
            mine = stack.enter_context(queue.drawn(f"{work.entry} run {work.run}", work.root, devices))
            for place, other in enumerate(mine.ahead):
                shared = ", ".join(name for name in devices if name in other.devices)
                more = len(mine.ahead) - place - 1
                text = f"queued for {shared} behind {other.name}{f' and {more} more' if more else ''}"
                while queue.is_held(other.number):
                    waits(text)
                    if stops.take():
                        raise ToolError(f"it was cancelled while it was {text}", cause="it was asked to stop")
                    if select.select([stops.wakeup], [], [], _PAUSE_S)[0]:
                        stops.clear_wakeup()
            apart, beside = queue.apart(mine.ticket), queue.beside(mine.ticket)
        except StoreError as error:
            found = Turn(problems=(f"it did not wait for {', '.join(devices)}: {error.message}",))
        else:
            found = Turn(keeps=(mine.descriptor,), apart=apart, beside=beside)
        yield found
