"""Running one command: found, started, watched, ended, and its output kept.

resolve   where the command is, before anything is recorded
job       what to run, where it reports to, and how it ended
ladder    when to send which signal (policy)
signals   requests to stop the tool, caught instead of obeyed
process   one child in a process group of its own
execute   the loop that joins them
output    the log on disk and its readable excerpts
lines     complete lines for whoever reads results
progress  the line a terminal shows meanwhile
"""

from logbook_agent.running.launch.execute import execute
from logbook_agent.running.launch.job import INTERRUPTED_STATUS, Graces, Job, Outcome, Sinks, Stream, exit_status
from logbook_agent.running.launch.lines import LineSplitter
from logbook_agent.running.launch.output import OutputLog
from logbook_agent.running.launch.progress import progress_line
from logbook_agent.running.launch.resolve import resolve
from logbook_agent.running.launch.signals import StopRequests

__all__ = [
    "INTERRUPTED_STATUS",
    "Graces",
    "Job",
    "LineSplitter",
    "Outcome",
    "OutputLog",
    "Sinks",
    "StopRequests",
    "Stream",
    "execute",
    "exit_status",
    "progress_line",
    "resolve",
]
