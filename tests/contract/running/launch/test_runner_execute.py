"""Real processes: live output, exits, time limits, interrupts, left-over processes."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable

import psutil
import pytest

pytestmark = pytest.mark.slow


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_until(condition: Callable[[], bool], seconds: float = 3.0) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


@pytest.mark.slow
def test_peak_memory_of_the_child() -> None:
    # In a small process of its own: a child's peak is known where it is above what its parent ever held.
    code = """
    import os, sys
    from pathlib import Path
    from logbook_agent.running.launch.process import Job
    from logbook_agent.running.launch.execute import execute
    class Sinks:
        def started(self, pid, create_time): pass
        def output(self, stream, data): pass
        def idle(self): pass
    child = "x = bytearray(400_000_000); x[::4096] = b'1' * len(x[::4096])"
    job = Job(argv=(sys.executable, "-c", child), cwd=Path.cwd(), env=dict(os.environ))
    print(execute(job, Sinks()).peak_memory_bytes)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True, timeout=60
    )
    assert 400_000_000 < int(done.stdout) < 600_000_000


TOOL = """
import os, sys
from pathlib import Path
from logbook_agent.running.launch.process import Graces
from logbook_agent.running.launch.process import Job
from logbook_agent.running.launch.execute import execute
from logbook_agent.running.launch.process import exit_status
class Sinks:
    def started(self, pid, create_time): pass
    def output(self, stream, data): os.write(1, data)
    def idle(self): pass
job = Job(argv=(sys.argv[1],), shell=True, cwd=Path.cwd(), env=dict(os.environ), timeout_s=30)
outcome = execute(job, Sinks(), graces=Graces(interrupt_s=float(sys.argv[2]), terminate_s=0.3, drain_s=0.3))
print(outcome.exit, outcome.problems, flush=True)
sys.exit(exit_status(outcome.exit))
"""


class Tool:
    """The tool in a process of its own, whose child runs `script` and says `ready`."""

    def __init__(self, script: str, interrupt_s: float = 0.4) -> None:
        argv = [sys.executable, "-c", TOOL, script, str(interrupt_s)]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True)
        assert self.process.stdout is not None
        self.pids = [int(p) for p in self.process.stdout.readline().split()[1:]]

    def end(self) -> str:
        out, _ = self.process.communicate(timeout=60)
        return out.decode()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_tool_ends_the_group(number: signal.Signals) -> None:
    tool = Tool("sleep 60 & echo ready $$ $!; wait")
    assert len(tool.pids) == 2
    tool.process.send_signal(number)
    said = tool.end()
    assert tool.process.returncode == 130, said
    assert "interrupted=True" in said
    assert wait_until(lambda: not any(map(is_running, tool.pids)))


@pytest.mark.slow
def test_second_ctrl_c_kills_at_once() -> None:
    tool = Tool("trap '' INT TERM; echo ready $$; while :; do sleep 0.1; done", interrupt_s=30)
    tool.process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert is_running(tool.pids[0])
    began = time.monotonic()
    tool.process.send_signal(signal.SIGINT)
    said = tool.end()
    assert time.monotonic() - began < 15
    assert "SIGKILL" in said
    assert not is_running(tool.pids[0])
