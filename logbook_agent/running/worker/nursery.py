"""Workers one after another, each forked from a process that has loaded what they need: `FOLDER nursery` of `far.py`.

A line on standard input asks for one: JSON with the `folder` of its spool and the whole `environ` of its command. Two
lines answer: the pid of the worker when it is there, and its exit code when it has ended (negative: of a signal).
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from logbook_agent.running.worker import process
from logbook_agent.store.files import create_log
from logbook_agent.store.spool import ERRORS


def main() -> None:
    """Serve until standard input ends, or the parent dies; then a worker that is left ends its command."""
    process.stop_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _work(Path(asked["folder"]), asked["environ"])
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def _work(folder: Path, environ: dict[str, str]) -> None:
    """Be the worker of this spool, and exit."""
    code = 1
    try:
        os.environ.clear()
        os.environ.update(environ)
        nothing = os.open(os.devnull, os.O_RDWR)
        for number, descriptor in ((0, nothing), (1, nothing), (2, create_log(folder / ERRORS, within=folder.parent))):
            os.dup2(descriptor, number)
        code = process.main([str(folder), "--with-parent"])
        sys.stderr.flush()
    finally:
        os._exit(code)
