"""Whether the processes of an unfinished run still live: host, pid and start time name a process."""

from __future__ import annotations

import os

from logbook_agent.model.record import Life
from logbook_agent.model.run import Process, Run

# Start times come from the kernel's tick counter (10 ms) plus the boot time, which may be re-read.
_SAME_START_S = 2.0


def this_process() -> Process:
    """The tool itself."""
    import psutil

    return Process(pid=os.getpid(), started=psutil.Process().create_time())


def life(run: Run) -> Life:
    """What is left of a run that has not ended."""
    if run.host.name is not None and run.host.name != os.uname().nodename:
        return "elsewhere"
    if run.tool is not None and alive(run.tool):
        return "tool"
    if run.child is not None and alive(run.child):
        return "child"
    return "gone"


def alive(process: Process) -> bool:
    """Whether this very process lives; a later one with the same pid does not count, nor does a zombie."""
    import psutil

    try:
        found = psutil.Process(process.pid)
        if found.status() == psutil.STATUS_ZOMBIE:
            return False
        return process.started is None or abs(found.create_time() - process.started) < _SAME_START_S
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True
