"""Workers as processes of their own on this machine: they outlive the client, its terminal and its shell; and how far
a run here is, by its spool."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

from logbook_agent.model.errors import ToolError
from logbook_agent.running.executors.contract import PIECE_BYTES, Executor, Submission, for_each
from logbook_agent.running.provenance.machine import MachineFacts, machine_facts
from logbook_agent.running.worker.work import Work, write_work
from logbook_agent.store.processes import MARK, end_command
from logbook_agent.store.run_files import LOG
from logbook_agent.store.spool import BEGAN, ERRORS, FINAL, Spool, name_holder

# How long a worker may take to say who it is.
_NAMED_S = 10.0
_PAUSE_S = 0.02
# Starts a worker. -P: a folder that a user works in may hold modules of any name.
_WORKER = (sys.executable, "-P", "-m", "logbook_agent.worker")
# Processes of ours that may still run: an object that is forgotten would complain of them.
_started: list[subprocess.Popen[bytes]] = []


class Local(Executor):
    """Starts workers with the variables of `environ`, by the words of `worker`."""

    devices = ()

    def __init__(self, environ: Mapping[str, str], worker: Sequence[str] = _WORKER) -> None:
        self._environ, self._worker = environ, worker

    def hello(self) -> MachineFacts:
        """As `Executor.hello`."""
        return machine_facts(self._environ)

    def start(self, items: Sequence[Submission], at_most: int) -> None:
        """As `Executor.start`."""
        for item in items:
            self._start(item.spool, item.claim, item.work, item.secrets)

    def _start(self, spool: Spool, claim: int, work: Work, secrets: Mapping[str, str]) -> None:
        if spool.has(BEGAN) or spool.has(FINAL):
            return
        _started[:] = [process for process in _started if process.poll() is None]
        spool.files.remove(ERRORS)
        write_work(work, spool.files)
        errors = spool.files.create_log(ERRORS)
        try:
            process = subprocess.Popen(
                [*self._worker, str(spool.folder), "--lock", str(claim)],
                env={name: value for name, value in {**self._environ, **secrets}.items() if name != MARK},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
                pass_fds=(claim,),
            )
        except OSError as error:
            raise ToolError(
                f"no worker was started: {error.strerror or error}", cause="refused by the system"
            ) from error
        finally:
            os.close(errors)
        _started.append(process)
        name_holder(claim, process.pid)

    def stop(self, spools: Sequence[Spool]) -> None:
        """As `Executor.stop`."""
        for_each(_stop, spools)


def _stop(spool: Spool) -> None:
    stage, holder = spool.stage(), spool.holder()
    group = holder.group if holder is not None and stage == "orphaned" else None
    if holder is not None and group is not None and not end_command(group, holder.mark):
        raise ToolError(
            f"process {group} does not end",
            cause="it was sent SIGKILL, but the kernel has not ended it yet",
            hint=f"look at it: ps -o stat,wchan,cmd -p {group}",
        )
    deadline = time.monotonic() + _NAMED_S
    while stage in ("sent", "running") and time.monotonic() < deadline:
        holder = spool.holder()
        # Until the worker is named, the lock names the client that started it.
        if holder is not None and holder.pid != os.getpid() and spool.is_held():
            with contextlib.suppress(ProcessLookupError):
                os.kill(holder.pid, signal.SIGTERM)
            return
        time.sleep(_PAUSE_S)
        stage = spool.stage()


def log_from(spool: Spool, offset: int) -> bytes:
    """A piece of the log of a spool; empty at its end, and before there is one."""
    if not spool.has(LOG):
        return b""
    with spool.files.open(LOG) as log:
        log.seek(offset)
        return log.read(PIECE_BYTES)
