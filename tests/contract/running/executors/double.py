"""The executor of the tests: workers as threads of this process, with the same interface."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from logbook_agent.model.errors import LogbookError
from logbook_agent.running.executors.contract import Followed, MachineFacts
from logbook_agent.running.executors.local import hello, log_from, stage_of
from logbook_agent.running.launch.signals import StopRequests
from logbook_agent.running.worker.entrypoint import make
from logbook_agent.running.worker.work import Work, environ_of, unsealed
from logbook_agent.store.spool import BEGAN, FINAL, Spool


class Threads:
    """What it has started is known to the process alone, so all of its instances share it."""

    running: dict[Path, StopRequests] = {}
    pace_s = 0.5
    place = None
    devices = None

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def hello(self) -> MachineFacts:
        return hello(self._environ)

    def start(self, spool: Spool, claim: int, work: Work, secrets: Mapping[str, str]) -> None:
        if spool.has(BEGAN) or spool.has(FINAL) or spool.folder in self.running:
            return
        held, stops = os.dup(claim), StopRequests()
        self.running[spool.folder] = stops
        environ = {**self._environ, **secrets}

        def run() -> None:
            try:
                make(unsealed(work, environ), spool, environ_of(environ), stops)
            except LogbookError:
                pass
            finally:
                os.close(held)

        threading.Thread(target=run, daemon=True).start()

    def follow(self, spool: Spool, offset: int | None = None, *, wait_s: float = 0.0) -> Followed:
        output = b"" if offset is None else log_from(spool, offset)
        return Followed(stage=stage_of(spool), output=output, heartbeat=spool.heartbeat())

    def look(self, spools: Sequence[Spool], *, wait_s: float = 0.0) -> None:
        """Nothing to do: to follow a run costs nothing."""

    def stop(self, spool: Spool) -> None:
        stops = self.running[spool.folder]
        stops.count, stops.last = stops.count + 1, signal.SIGTERM

    def collect(self, spool: Spool) -> None:
        self.running.pop(spool.folder, None)
