"""A worker in a process of its own: `python -m logbook_agent.worker FOLDER`.

FOLDER is its spool (`store/spool.py`), with what is to be done in `work.json`; secrets are variables. Its exit code is
0 when an end stands in the spool, whatever became of the command.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import structs

from logbook_agent.model.errors import LogbookError, StoreError, ToolError
from logbook_agent.model.worker_report import Began, End, Exit, noted
from logbook_agent.running.launch.signals import StopRequests, adopt, own_session
from logbook_agent.running.provenance.machine import devices_of
from logbook_agent.running.worker.perform import perform
from logbook_agent.running.worker.tree import slot
from logbook_agent.running.worker.work import (
    Stream,
    Work,
    Workplace,
    environ_of,
    read_work,
    unsealed,
    values_of,
)
from logbook_agent.store.device_queue import Queue, queue_folder
from logbook_agent.store.folder import Folder
from logbook_agent.store.processes import HAS_PROC
from logbook_agent.store.run_files import BEGAN, CLOSED, FINAL, ROOM, SEEN
from logbook_agent.store.spool import Heartbeat, Seen, Spool, name_holder
from logbook_agent.text.phrases import stamp

HEARTBEAT_S = 5.0
# An end that cannot be written (a full disk) is tried again for so long.
_PATIENCE_S = 600.0
_PAUSE_S = 2.0
_ROOM_BYTES = 64 << 10
_PR_SET_PDEATHSIG = 1


def main(args: Sequence[str] | None = None) -> int:
    """Make the run in the spool FOLDER. `--lock FD`: its lock is inherited; `--with-parent`: the command is stopped
    when the process that started this one dies. Trouble is printed in one line on stderr."""
    folder, *options = sys.argv[1:] if args is None else args
    lock = int(options[options.index("--lock") + 1]) if "--lock" in options else None
    own_session()
    adopt()
    if "--with-parent" in options:
        stop_with_parent()
    # Whoever moves the repository meanwhile takes this folder along.
    os.chdir(folder)
    spool = Spool(files=Folder(Path("/proc/self/cwd") if HAS_PROC else Path.cwd()))
    try:
        return _work(spool, lock)
    except LogbookError as error:
        print(spool.redactor().text(f"{error.message}{f' ({error.cause})' if error.cause else ''}"), file=sys.stderr)
        return error.exit_code


def now() -> datetime:
    return datetime.now(UTC)


def stop_with_parent() -> None:
    """Have the kernel send TERM to this process when its parent dies. Raises ToolError on systems other than Linux."""
    parent = os.getppid()
    if sys.platform != "linux" or ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM):
        raise ToolError("the worker cannot be bound to its parent", cause="only Linux can", hint="omit --with-parent")
    if os.getppid() != parent:
        raise ToolError("the process that started this worker has ended", cause="it ended first")


def _work(spool: Spool, lock: int | None) -> int:
    held = spool.claim() if lock is None else lock
    if lock is not None:
        name_holder(lock, os.getpid())
    if held is None or spool.has(BEGAN) or spool.has(FINAL):
        raise ToolError(
            f"{Path.cwd()} has already been started",
            cause="another worker holds it" if held is None else "it holds a run",
        )
    if spool.has(CLOSED):
        raise ToolError(f"{Path.cwd()} is closed", cause="its client gave it up before this worker started")
    work = read_work(spool.files)
    with StopRequests() as stops:
        _make(unsealed(work, os.environ), spool, held, environ_of(os.environ), stops)
    return 0


def _make(work: Work, spool: Spool, held: int, environ: Mapping[str, str], stops: StopRequests) -> None:
    """Make the run and leave its end in the spool. Raises StoreError when that cannot be written."""
    values = values_of(work, environ)
    spool = structs.replace(spool, redactor=lambda: values)
    place = Workplace(environ=environ, values=values, now=now, files=spool.files)
    watch = SpoolWatch(spool, lambda group: name_holder(held, os.getpid(), group, work.mark))
    patience_s = _PATIENCE_S
    try:
        with turn(work, environ, stops, watch.waits) as (devices, problems), slot(work) as own:
            keeps = [descriptor for descriptor in (*devices, own.descriptor) if descriptor is not None]
            place = structs.replace(place, keeps=tuple(keeps), problems=problems)
            spool.files.write(ROOM, os.urandom(_ROOM_BYTES), durable=False)
            end = perform(own.work, place, watch, stops)
            end = structs.replace(end, problems=(*end.problems, *noted(*own.problems())))
    except (LogbookError, OSError) as error:
        if spool.has(BEGAN):
            raise  # the command may have been started, and nobody saw its end
        patience_s = 0.0  # nothing is lost that is not known
        said = f"never started: {error.message if isinstance(error, LogbookError) else error}"
        end = End(ended=stamp(now()), duration_s=0.0, exit=Exit(never_started=True), problems=noted(said))
    write_end(spool, end, patience_s=patience_s)


def write_end(
    spool: Spool,
    end: End,
    *,
    patience_s: float = _PATIENCE_S,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Write the end, again and again while the disk refuses it, where there is room for it on a full one."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            spool.put(end)
        except StoreError:
            if time.monotonic() >= deadline or not spool.folder.is_dir():
                raise
            if not spool.has(ROOM):
                sleep(_PAUSE_S)
            spool.files.remove(ROOM)
        else:
            return


class SpoolWatch:
    """Writes what becomes known to the spool. The command goes on when a heartbeat cannot be written."""

    def __init__(self, spool: Spool, name_group: Callable[[int], None]) -> None:
        self._spool, self._name_group = spool, name_group
        self._last: str | None = None
        self._bytes, self._beaten = 0, float("-inf")

    def waits(self, text: str) -> None:
        """The run has not begun, for this reason."""
        with contextlib.suppress(StoreError):
            self._spool.put(Seen(stage="sent", said=text))

    def began(self, facts: Began) -> None:
        self._spool.put(facts)
        if self._spool.has(SEEN):
            with contextlib.suppress(StoreError):
                self._spool.put(Seen(stage="running"))

    def started(self, group: int) -> None:
        self._name_group(group)
        self._beat()

    def output(self, stream: Stream, data: bytes) -> None:
        self._bytes += len(data)
        self._beat()

    def idle(self, last_result: str | None, log_bytes: int) -> None:
        self._last, self._bytes = last_result, log_bytes
        self._beat()

    def done(self) -> None: ...

    def _beat(self) -> None:
        if time.monotonic() - self._beaten < HEARTBEAT_S:
            return
        self._beaten = time.monotonic()
        # On a full disk the next one may succeed.
        with contextlib.suppress(StoreError):
            self._spool.put(Heartbeat(at=stamp(now()), last=self._last, bytes=self._bytes))


# -- waiting for devices -----------------------------------------------------------------------------


# What holds the devices, and what went wrong.
Taken = tuple[tuple[int, ...], tuple[str, ...]]
# The devices that runs take turns at, in place of those that are found; `none`: there is no queue.
DEVICES, NONE = "LOGBOOK_DEVICES", "none"


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
def turn(work: Work, environ: Mapping[str, str], stops: StopRequests, waits: Callable[[str], None]) -> Iterator[Taken]:
    """The turn of a run, until the block is left. While it waits, `waits` is told for what. Raises
    ToolError when it is to be stopped before its turn has come."""
    devices = devices_needed(work, environ)
    if not devices:
        yield (), ()
        return
    queue = Queue(files=Folder(queue_folder(environ)))
    with contextlib.ExitStack() as stack:
        try:
            mine = stack.enter_context(queue.drawn(f"{work.entry} run {work.run}", devices))
            for place, other in enumerate(mine.ahead):
                shared = ", ".join(name for name in devices if name in other.devices)
                more = len(mine.ahead) - place - 1
                text = f"queued for {shared} behind {other.name}{f' and {more} more' if more else ''}"
                waits(text)
                with queue.released(other.number) as released:
                    while released not in select.select([released, stops.wakeup], [], [])[0]:
                        stops.clear_wakeup()
                        if stops.take():
                            raise ToolError(f"it was cancelled while it was {text}", cause="it was asked to stop")
        except StoreError as error:
            found: Taken = (), (f"it did not wait for {', '.join(devices)}: {error.message}",)
        else:
            found = (mine.descriptor,), ()
        yield found
