"""What to run, and how it ended; one child in a process group of its own: started, signalled, reaped."""

from __future__ import annotations

import errno
import functools
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Literal, Protocol

from msgspec import Struct

from logbook_agent.model.errors import CommandNotFound, NotExecutable, ToolError
from logbook_agent.model.worker_report import Exit
from logbook_agent.store.processes import own_peak_bytes

Stream = Literal["stdout", "stderr"]

TIMEOUT_STATUS = 124
FAILED_STATUS = 125
INTERRUPTED_STATUS = 130
_BROKEN_PIPE = 128 + signal.SIGPIPE
UNSEEN = "a failure before the last command of a pipe is not seen"
# Linux counts kibibytes, macOS bytes.
_MAXRSS_UNIT_BYTES = 1 if sys.platform == "darwin" else 1024


class Job(Struct, frozen=True, kw_only=True):
    """One command with all of its environment. `argv[0]` is resolved; a shell job is one word, a script. It is
    ended after `timeout_s`, or `stall_s` without output. `keeps` are descriptors that it inherits, `mark` what its
    processes are known by (`signals.py`)."""

    argv: tuple[str, ...]
    shell: bool = False
    cwd: Path
    env: Mapping[str, str]
    timeout_s: float | None = None
    stall_s: float | None = None
    keeps: tuple[int, ...] = ()
    mark: str = ""

    def pipe_problems(self, exit: Exit) -> tuple[str, ...]:
        """What is to be said of the pipes of a script that has ended so."""
        if not self.shell or "|" not in self.argv[0]:
            return ()
        if "pipefail" not in shell_words():
            return (f"{UNSEEN}: neither /bin/sh nor bash has pipefail here",)
        said = "a command of a pipe was ended because the next one stopped reading, as head does"
        hint = "where that is right, write { CMD || [ $? = 141 ]; } | head"
        return (f"{said}: {hint}",) if exit.code == _BROKEN_PIPE else ()


class Graces(Struct, frozen=True, kw_only=True):
    """How long a process group may take to end after each signal, and how long left-over output is read."""

    interrupt_s: float = 5.0
    terminate_s: float = 5.0
    kill_s: float = 2.0
    drain_s: float = 0.5


class JobOutcome(Struct, frozen=True, kw_only=True):
    """How a job ended. `duration_s` ends when the command does. `peak_memory_bytes`: of its largest process; None:
    unknown."""

    exit: Exit
    duration_s: float
    peak_memory_bytes: int | None = None
    problems: tuple[str, ...] = ()


class Sinks(Protocol):
    """Where a run reports to, in the thread that executes it. What a sink raises ends the command."""

    def started(self, group: int) -> None:
        """The command runs in this process group."""

    def output(self, stream: Stream, data: bytes) -> None:
        """Bytes as they were read."""

    def idle(self) -> None:
        """Nothing came for a moment; called again and again while nothing comes."""


# Python code of this process as a run: it hands on its output, and says how it ended.
Inside = Callable[[Sinks], JobOutcome]


def exit_status(exit: Exit) -> int:
    """What the tool exits with: the command's code, 128 + n for a signal, 124 timeout, 130 interrupted, 125 when
    nobody saw the end."""
    if exit.timeout:
        return TIMEOUT_STATUS
    if exit.interrupted:
        return INTERRUPTED_STATUS
    if exit.code is not None:
        return exit.code
    return FAILED_STATUS if exit.signal is None else 128 + signal_number(exit.signal)


def signal_number(name: str) -> int:
    import signal

    return int(name[3:]) if name[3:].isdigit() else int(signal.Signals[name])


# -- one child -------------------------------------------------------------------------------------


class Ended(Struct, frozen=True, kw_only=True):
    """How a child ended. `exit` has no flags such as `timeout`, which its caller knows, and no code or signal if the
    status was lost."""

    exit: Exit
    peak_memory_bytes: int | None


class Child:
    """A started job; `stdout` and `stderr` are pipes that do not block."""

    def __init__(self, process: subprocess.Popen[bytes], floor_bytes: int) -> None:
        self._process = process
        self._floor_bytes = floor_bytes
        self.pid = process.pid
        self.stdout = _unblocked(process.stdout)
        self.stderr = _unblocked(process.stderr)

    def reap(self) -> Ended | None:
        """How the child ended; None while it runs."""
        try:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
        except ChildProcessError:
            self._process.returncode = 0
            return Ended(exit=Exit(), peak_memory_bytes=None)
        if pid == 0:
            return None
        # subprocess must not wait for it again.
        self._process.returncode = os.waitstatus_to_exitcode(status)
        peak = usage.ru_maxrss * _MAXRSS_UNIT_BYTES
        # Linux counts what the child was before `exec`, a copy of the tool: a smaller peak cannot be known.
        return Ended(exit=_exit(status), peak_memory_bytes=peak if peak > self._floor_bytes else None)

    def close(self) -> None:
        self.stdout.close()
        self.stderr.close()


@functools.cache
def shell_words() -> tuple[str, ...]:
    """The words before a script: a shell in which a pipe fails where any of its commands does. Where /bin/sh cannot do
    that, it is bash, with the `echo` of such a sh and without its files of settings; /bin/sh where there is no bash."""
    own = ("/bin/sh", "-o", "pipefail", "-c")
    if subprocess.run([*own, ":"], stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0:
        return own
    bash = shutil.which("bash")
    return (bash, "-p", "-O", "xpg_echo", *own[1:]) if bash is not None else ("/bin/sh", "-c")


def start(job: Job) -> Child:
    """Starts the job in a session of its own, without input. Raises ToolError and its kinds."""
    argv = (*shell_words(), *job.argv, "/bin/sh") if job.shell else job.argv
    # Until its exec a child counts as much memory as the tool has held.
    floor = own_peak_bytes()
    try:
        process = subprocess.Popen(
            argv,
            cwd=job.cwd,
            # Without it a Python child holds its output back until it ends.
            env={"PYTHONUNBUFFERED": "1", **job.env},
            # A child that waits for input would hang where nobody sees it.
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            # A terminal's Ctrl-C reaches the tool alone, and the whole group can be ended at once.
            start_new_session=True,
            pass_fds=job.keeps,
        )
    except OSError as error:
        raise _spawn_error(error, job, argv[0]) from error
    except ValueError as error:
        raise ToolError(f"cannot start {argv[0]!r}: {error}", cause="an argument contains a NUL byte") from error
    return Child(process, floor if sys.platform != "darwin" else 0)


def _spawn_error(error: OSError, job: Job, command: str) -> ToolError:
    if not job.cwd.is_dir():
        return ToolError(f"cannot run in {job.cwd}", cause="it is not a directory", hint="check --cwd")
    if isinstance(error, FileNotFoundError):
        cause = "its interpreter (the #! line) does not exist" if Path(command).exists() else "no such file"
        return CommandNotFound(f"cannot start {command}", cause=cause, hint=f"head -1 {command}")
    if isinstance(error, PermissionError):
        return NotExecutable(f"cannot start {command}", cause="permission denied", hint=f"chmod +x {command}")
    if error.errno == errno.ENOEXEC:
        cause = "it is neither a program nor a script with a #! line"
        return NotExecutable(f"cannot start {command}", cause=cause, hint=f"run it as: sh {command}")
    return ToolError(f"cannot start {command}: {error.strerror}")


def _exit(status: int) -> Exit:
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return Exit(code=code)
    try:
        return Exit(signal=signal.Signals(-code).name)
    except ValueError:
        return Exit(signal=f"SIG{-code}")


def _unblocked(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None  # noqa: S101
    os.set_blocking(pipe.fileno(), False)
    return pipe
