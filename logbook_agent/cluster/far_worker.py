"""What an engine starts on another machine: `python -P CODE worker FOLDER ...`, or `task FOLDER PARENT` on Ray."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from logbook_agent.running.worker import entrypoint


def main() -> None:
    """Make a run: as a worker, or as the task of Ray that the process PARENT makes."""
    match sys.argv[1:]:
        case ["worker", *words]:
            _work(words)
        case ["task", folder, parent]:
            sys.exit(_make_task(folder, int(parent)))
        case words:
            sys.exit(f"no such call: {' '.join(words)}")


def _work(words: Sequence[str]) -> NoReturn:
    code = entrypoint.main(words)
    sys.stderr.flush()
    os._exit(code)


def _make_task(folder: str, parent: int) -> int:
    """Wait for a worker, and return its exit code. Ray kills what its processes started when they end, too early for a
    worker to end its command: the worker is one step further away."""
    entrypoint.stop_with_parent()
    if os.getppid() != parent:
        return 1
    if (worker := os.fork()) == 0:
        _work([folder, "--with-parent"])
    signal.signal(signal.SIGTERM, lambda *_: os.kill(worker, signal.SIGTERM))
    return os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
