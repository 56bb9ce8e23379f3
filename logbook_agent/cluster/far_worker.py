"""What an engine starts on another machine: `python -P CODE worker FOLDER ...`, `unit FOLDER` in a batch job, or
`task PARENT FOLDER` on Ray."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

from logbook_agent.cluster import far
from logbook_agent.running.worker import entrypoint
from logbook_agent.store.run_files import FINAL
from logbook_agent.store.spool_stage import plain


def main() -> None:
    """Make a run as a worker, the runs of a unit, or a run as the task of Ray that the process PARENT makes."""
    match sys.argv[1:]:
        case ["worker", *words]:
            _leave(entrypoint.main(words))
        case ["unit", folder]:
            _leave(_make_unit(Path(folder)))
        case ["task", parent, folder]:
            sys.exit(_make_task(folder, int(parent)))
        case words:
            sys.exit(f"no such call: {' '.join(words)}")


def _leave(code: int) -> NoReturn:
    sys.stderr.flush()
    os._exit(code)


def _make_unit(first: Path) -> int:
    """Make the runs of a unit in turn: that of this folder, and those of the folders with a number behind its name.
    After one that was stopped, no other starts."""
    others = sorted(first.parent.glob(f"{first.name}-*"), key=lambda place: int(place.name.rpartition("-")[2]))
    for other in others:
        # What the engine writes there when it ends the job concerns each of them.
        far.link(first / "worker.err", other / "worker.err")
    code = 0
    for place in (first, *others):
        code = max(code, entrypoint.main([str(place), "--with-parent"]))
        if (plain(place / FINAL) or {}).get("exit", {}).get("interrupted"):
            break
    return code


def _make_task(folder: str, parent: int) -> int:
    """Wait for a worker, and return its exit code. Ray kills what its processes started when they end, too early for a
    worker to end its command: the worker is one step further away."""
    entrypoint.stop_with_parent()
    if os.getppid() != parent:
        return 1
    if (worker := os.fork()) == 0:
        _leave(entrypoint.main([folder, "--with-parent"]))
    signal.signal(signal.SIGTERM, lambda *_: os.kill(worker, signal.SIGTERM))
    return os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
