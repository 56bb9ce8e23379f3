"""Workers that are forked from a process that has loaded what they need.

`FOLDER nursery` of `far.py` makes one after another. A line on standard input asks for one: JSON with the `folder` of
its spool and the whole `environ` of its command. Two lines answer: the pid of the worker when it is there, and its exit
code when it has ended (negative: of a signal).
"""

from __future__ import annotations

import contextlib
import functools
import gc
import json
import os
import signal
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from logbook_agent.model.codec import decode, encode
from logbook_agent.model.errors import LogbookError, ToolError
from logbook_agent.running.launch.family import MARK
from logbook_agent.running.launch.signals import StopRequests
from logbook_agent.running.worker import entrypoint
from logbook_agent.running.worker.work import Work, environ_of, unsealed
from logbook_agent.store.files import create_log
from logbook_agent.store.parse import parse_json
from logbook_agent.store.spool import ERRORS, WORK, Spool, name_holder

_NUMBER_BYTES = 20


def main() -> None:
    """Serve until standard input ends, or the parent dies; then a worker that is left ends its command."""
    entrypoint.stop_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    load()
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _work(Path(asked["folder"]), asked["environ"], with_parent=True)
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


@functools.cache
def load() -> None:
    """Load what workers need."""
    _warm_up()
    # The garbage collector of a worker would copy every page that it looks through.
    gc.freeze()


def start(spool: Spool, claim: int, secrets: Mapping[str, str]) -> None:
    """Start a worker in this spool that outlives this process, with the lock that the caller holds. Raises
    ToolError."""
    told, tells = os.pipe()
    try:
        between = os.fork()
        if between == 0:
            _fork_worker(spool.folder, claim, secrets, told, tells)
        os.close(tells)
        number = os.read(told, _NUMBER_BYTES)
        os.waitpid(between, 0)
    except OSError as error:
        raise ToolError(f"no worker was started: {error.strerror or error}", cause="refused by the system") from error
    finally:
        os.close(told)
    if not number:
        raise ToolError("no worker was started", cause="refused by the system")
    name_holder(claim, int(number))


def _fork_worker(folder: Path, claim: int, secrets: Mapping[str, str], told: int, tells: int) -> NoReturn:
    """Fork the worker, and exit, so that no signal to the process group of the caller reaches the worker."""
    try:
        os.setsid()
        worker = os.fork()
        if worker == 0:
            os.close(told)
            os.close(tells)
            _work(
                folder, {name: value for name, value in {**os.environ, **secrets}.items() if name != MARK}, lock=claim
            )
        os.write(tells, str(worker).encode())
    finally:
        os._exit(0)


def _warm_up() -> None:
    """Make one run of `true` in a folder that is removed again: workers inherit what the first run loads and compiles.
    A disk that is full, or a machine without `true`, only makes the workers slower."""
    with contextlib.suppress(LogbookError, OSError), tempfile.TemporaryDirectory(prefix="logbook-") as name:
        top = Path(name).resolve()
        work = Work(entry="NONE-000", run=0, argv=("true",), executable="", cwd=name, log_bytes=1, root=name)
        spool = Spool(folder=top / "NONE-000.00", within=top)
        spool.make()
        work = decode(Work, parse_json(json.dumps(encode(work)), spool.folder / WORK))
        with StopRequests() as stops:
            entrypoint.make(unsealed(work, {}), spool, environ_of(os.environ), stops, patience_s=0.0)


def _work(folder: Path, environ: dict[str, str], *, lock: int | None = None, with_parent: bool = False) -> NoReturn:
    """Make the run of this spool as its worker, and exit."""
    code = 1
    try:
        os.environ.clear()
        os.environ.update(environ)
        nothing = os.open(os.devnull, os.O_RDWR)
        for number, descriptor in ((0, nothing), (1, nothing), (2, create_log(folder / ERRORS, within=folder.parent))):
            os.dup2(descriptor, number)
        code = entrypoint.work_in(folder, lock=lock, with_parent=with_parent)
        sys.stderr.flush()
    finally:
        os._exit(code)
