"""Real processes: live output, exits, time limits, interrupts, left-over processes."""

from __future__ import annotations

import os
import signal
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from logbook_agent.model.worker_report import Exit
from logbook_agent.running.launch.execute import execute
from logbook_agent.running.launch.process import Graces, Job, JobOutcome
from logbook_agent.running.launch.signals import StopRequests

pytestmark = pytest.mark.slow

QUICK = Graces(interrupt_s=0.4, terminate_s=0.4, kill_s=2.0, drain_s=0.3)


class Recorder:
    """Sinks that keep everything, with the time since the start."""

    def __init__(self, on_output: Callable[[bytes], None] | None = None) -> None:
        self.pid = 0
        self.pieces: list[tuple[float, str, bytes]] = []
        self.idles = 0
        self.began = time.monotonic()
        self._on_output = on_output

    def started(self, group: int) -> None:
        self.pid = group

    def output(self, stream: str, data: bytes) -> None:
        self.pieces.append((time.monotonic() - self.began, stream, data))
        if self._on_output is not None:
            self._on_output(data)

    def idle(self) -> None:
        self.idles += 1

    def text(self, stream: str = "stdout") -> bytes:
        return b"".join(data for _, name, data in self.pieces if name == stream)


def run(
    *argv: str,
    script: str | None = None,
    timeout_s: float | None = None,
    sinks: Recorder | None = None,
    cwd: Path | None = None,
    graces: Graces = QUICK,
    **env: str,
) -> tuple[JobOutcome, Recorder]:
    sinks = sinks or Recorder()
    full = {"PATH": os.environ["PATH"], **env}
    words = argv if script is None else (script,)
    job = Job(argv=words, shell=script is not None, cwd=cwd or Path.cwd(), env=full, timeout_s=timeout_s)
    return execute(job, sinks, graces=graces), sinks


def sh(script: str, timeout_s: float | None = None, **rest: Any) -> tuple[JobOutcome, Recorder]:
    return run(script=script, timeout_s=timeout_s, **rest)


def python(code: str, *args: str) -> tuple[str, ...]:
    return (sys.executable, "-c", textwrap.dedent(code), *args)


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
def test_output_arrives_while_the_command_runs() -> None:
    # Without PYTHONUNBUFFERED the first line would come with the last.
    outcome, sinks = run(*python("import time; print('first'); time.sleep(0.7); print('last')"))
    first = next(at for at, _, data in sinks.pieces if b"first" in data)
    last = next(at for at, _, data in sinks.pieces if b"last" in data)
    assert last - first > 0.5
    assert sinks.idles >= 2
    assert outcome.duration_s > 0.6


def test_input_is_empty_and_never_waited_for() -> None:
    outcome, sinks = sh("cat; echo done", timeout_s=5)
    assert (outcome.exit, sinks.text()) == (Exit(code=0), b"done\n")


@pytest.mark.slow
def test_child_may_finish_its_work_after_the_first_signal() -> None:
    code = """
    import signal, sys, time
    def stop(*_):
        print("saved"); sys.exit(7)
    signal.signal(signal.SIGINT, stop)
    print("ready"); time.sleep(60)
    """
    outcome, sinks = run(*python(code), timeout_s=1.0)
    assert outcome.exit == Exit(code=7, timeout=True)
    assert sinks.text().endswith(b"saved\n")


def test_a_stopped_command_gets_the_signal_that_ends_it() -> None:
    """It would only see it once somebody lets it go on."""
    outcome, _ = sh("trap '' INT; kill -STOP $$; sleep 9", timeout_s=1.0)
    assert outcome.exit == Exit(signal="SIGTERM", timeout=True)


def test_left_over_process_that_holds_the_output_is_not_waited_for() -> None:
    began = time.monotonic()
    outcome, sinks = sh("sleep 60 & echo $!")
    assert time.monotonic() - began < 20
    assert outcome.exit == Exit(code=0)
    assert ["outlived" in p for p in outcome.problems] == [True]
    os.kill(int(sinks.text()), signal.SIGKILL)


def test_left_over_process_that_goes_on_writing_is_cut_off() -> None:
    script = "(while :; do echo more; done) & echo $! >&2"
    outcome, sinks = sh(script)
    assert outcome.problems
    assert b"more" in sinks.text()
    pid = int(sinks.text("stderr"))
    assert wait_until(lambda: not is_running(pid))


def test_what_a_sink_raises_kills_the_command() -> None:
    def fail(_: bytes) -> None:
        raise RuntimeError("sink")

    sinks = Recorder(fail)
    with pytest.raises(RuntimeError, match="sink"):
        sh("echo x; sleep 60", sinks=sinks)
    assert wait_until(lambda: not is_running(sinks.pid))


def test_one_signal_for_the_tool_and_its_command() -> None:
    """As engines send it: the command has ended by it when the tool sees it."""
    script = f"(sleep 0.1; kill -TERM {os.getpid()}) > /dev/null 2>&1 & kill -TERM $$"
    job = Job(argv=("/bin/sh", "-c", script), cwd=Path.cwd(), env=dict(os.environ))
    with StopRequests() as stops:
        # No time passes: it may come as late as it likes.
        outcome = execute(job, Recorder(), stops=stops, clock=lambda: 0.0, graces=QUICK)
    assert outcome.exit == Exit(signal="SIGTERM", interrupted=True)


def test_handlers_are_put_back() -> None:
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)]
    sh("true")
    after = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)]
    assert before == after
    assert signal.set_wakeup_fd(-1) == -1


def test_no_file_descriptor_is_left_open() -> None:
    sh("true")
    before = psutil.Process().num_fds()
    for _ in range(3):
        sh("true")
    assert psutil.Process().num_fds() == before
