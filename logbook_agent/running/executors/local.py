"""Workers as processes of their own on this machine: they outlive the client, its terminal and its shell; and how far
a run here is, by its spool."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence

from logbook_agent.model.errors import ToolError
from logbook_agent.running.executors.contract import PIECE_BYTES, Executor, Submission, for_each
from logbook_agent.running.provenance.machine import MachineFacts, machine_facts
from logbook_agent.running.worker.work import Work, write_work
from logbook_agent.store.processes import MARK
from logbook_agent.store.run_files import BEGAN, ERRORS, FINAL, LOG
from logbook_agent.store.spool import Spool, name_holder
from logbook_agent.store.spool_stage import start_worker, stop_worker

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
        environ = {name: value for name, value in {**self._environ, **secrets}.items() if name != MARK}
        try:
            process = start_worker(self._worker, spool.folder, environ, cwd=None, lock=claim)
        except OSError as error:
            raise ToolError(
                f"no worker was started: {error.strerror or error}", cause="refused by the system"
            ) from error
        _started.append(process)
        name_holder(claim, process.pid)

    def stop(self, spools: Sequence[Spool]) -> None:
        """As `Executor.stop`."""
        for_each(_stop, spools)


def _stop(spool: Spool) -> None:
    if (group := stop_worker(spool.folder)) is not None:
        raise ToolError(
            f"process {group} does not end",
            cause="it was sent SIGKILL, but the kernel has not ended it yet",
            hint=f"look at it: ps -o stat,wchan,cmd -p {group}",
        )


def log_from(spool: Spool, offset: int) -> bytes:
    """A piece of the log of a spool; empty at its end, and before there is one."""
    if not spool.has(LOG):
        return b""
    with spool.files.open(LOG) as log:
        log.seek(offset)
        return log.read(PIECE_BYTES)
