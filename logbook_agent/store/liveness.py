"""What is left of an unfinished run: host, pid and start time name its processes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from logbook_agent.model.record import Life
from logbook_agent.store.processes import alive, create_time

if TYPE_CHECKING:
    from logbook_agent.model.run import Process, Run


def this_process() -> Process:
    """The tool itself."""
    from logbook_agent.model.run import Process

    return Process(pid=os.getpid(), started=create_time(os.getpid()))


def life(run: Run) -> Life:
    """What is left of a run that has not ended."""
    if run.host.name is not None and run.host.name != os.uname().nodename:
        return "elsewhere"
    if run.tool is not None and alive(run.tool.pid, run.tool.started):
        return "tool"
    if run.child is not None and alive(run.child.pid, run.child.started):
        return "child"
    return "gone"
