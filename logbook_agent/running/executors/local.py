"""Workers as processes of their own on this machine: they outlive the client, its terminal and its shell."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import logbook_agent
from logbook_agent import __version__
from logbook_agent.model.codec import encode
from logbook_agent.model.errors import StoreError, ToolError
from logbook_agent.running.executors.contract import PIECE_BYTES, Followed, Stage
from logbook_agent.running.launch.family import MARK
from logbook_agent.running.launch.stopping import end_group
from logbook_agent.running.provenance.machine import host_facts, visible_devices
from logbook_agent.running.worker.work import Work
from logbook_agent.store.files import create_log, remove
from logbook_agent.store.processes import alive
from logbook_agent.store.reading import LOG, open_file
from logbook_agent.store.spool import BEGAN, ERRORS, FINAL, Heartbeat, Spool, name_holder

# How long a worker may take to say who it is.
_NAMED_S = 10.0
_PAUSE_S = 0.02
# The Python of an environment of ours on another machine, below the folder of an executor.
VENV_PYTHON = "venv/bin/python"
# Processes of ours that may still run: an object that is forgotten would complain of them.
_started: list[subprocess.Popen[bytes]] = []


class Local:
    """Starts workers with the variables of `environ`."""

    pace_s = 0.5
    place = None
    devices = ()

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def hello(self) -> dict[str, Any]:
        """As `Executor.hello`."""
        return hello(self._environ)

    def start(self, spool: Spool, claim: int, work: Work, secrets: Mapping[str, str]) -> None:
        if spool.has(BEGAN) or spool.has(FINAL):
            return
        _started[:] = [process for process in _started if process.poll() is None]
        remove(spool.folder / ERRORS, within=spool.within)
        errors = create_log(spool.folder / ERRORS, within=spool.within)
        try:
            process = subprocess.Popen(
                [*worker_words(), str(spool.folder), "--lock", str(claim)],
                env={name: value for name, value in {**self._environ, **secrets}.items() if name != MARK},
                stdin=subprocess.PIPE,
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
        assert process.stdin is not None  # noqa: S101
        # A worker that is gone already took nothing; what became of it, its spool tells.
        with contextlib.suppress(BrokenPipeError), process.stdin as pipe:
            pipe.write(json.dumps(encode(work)).encode())

    def follow(self, spool: Spool, offset: int | None = None, *, wait_s: float = 0.0) -> Followed:
        """As `Executor.follow`, at once."""
        stage = stage_of(spool)
        return Followed(
            stage=stage,
            output=b"" if offset is None else log_from(spool, offset),
            heartbeat=_heartbeat(spool),
            said=said_by(spool),
        )

    def look(self, spools: Sequence[Spool]) -> None:
        """Nothing to do: to follow a run costs nothing."""

    def stop(self, spool: Spool) -> None:
        stage = stage_of(spool)
        if stage == "orphaned":
            began = spool.began()
            if began is not None and began.child is not None:
                end_group(began.child)
            return
        deadline = time.monotonic() + _NAMED_S
        while stage in ("sent", "running") and time.monotonic() < deadline:
            holder = spool.holder()
            # Until the worker is named, the lock names the client that started it.
            if holder is not None and holder[0].pid != os.getpid() and alive(holder[0].pid, holder[0].started):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(holder[0].pid, signal.SIGTERM)
                return
            time.sleep(_PAUSE_S)
            stage = stage_of(spool)

    def collect(self, spool: Spool) -> None:
        """Nothing to do: the worker wrote into the spool itself."""


def hello(environ: Mapping[str, str]) -> dict[str, Any]:
    """Which machine this is, as plain data."""
    return {
        "version": __version__,
        "python": platform.python_version(),
        "host": encode(host_facts()),
        "devices": encode(visible_devices(environ)),
    }


def worker_words() -> list[str]:
    """What starts a worker of this very code."""
    # -P: a folder that a user works in may hold modules of any name.
    carried = Path(logbook_agent.__file__).parents[1]
    # Where the code was brought to another machine, a main file lies beside the package.
    if not (carried / "__main__.py").is_file():
        return [sys.executable, "-P", "-m", "logbook_agent.worker"]
    own = carried.parents[1] / VENV_PYTHON
    return [str(own) if own.is_file() else sys.executable, "-P", str(carried), "worker"]


def stage_of(spool: Spool) -> Stage:
    """How far a run on this machine is, by its spool. An end counts when nobody holds the spool any more: what is there
    while its worker works was written by somebody else."""
    life = spool.life()
    if life == "sent":
        return "sent"
    if life == "tool":
        has_ended = spool.has(FINAL) and not spool.is_held()
        return "ended" if has_ended else "running" if spool.has(BEGAN) else "sent"
    stages: dict[str, Stage] = {"child": "orphaned", "lost": "lost", "unstarted": "never-started"}
    return stages.get(life, "elsewhere")


def said_by(spool: Spool) -> str | None:
    """What a run on this machine waits for before it begins, and later what keeps its worker from writing."""
    with contextlib.suppress(StoreError):
        seen = spool.seen() if spool.waits() else None
        return seen.said if seen is not None else spool.trouble()
    return None


def log_from(spool: Spool, offset: int) -> bytes:
    """A piece of the log of a spool; empty at its end, and before there is one."""
    if not spool.has(LOG):
        return b""
    with open_file(spool.folder / LOG, within=spool.within) as log:
        log.seek(offset)
        return log.read(PIECE_BYTES)


def _heartbeat(spool: Spool) -> Heartbeat | None:
    with contextlib.suppress(StoreError):
        return spool.heartbeat()
    return None
