"""Other programs that this one starts: found in absolute folders of PATH alone, bounded in time and output.

An empty or relative element of PATH would find a program in the current folder, which may be a pulled branch.
"""

from __future__ import annotations

import contextlib
import math
import os
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from logbook_agent.model.errors import ToolError

_READ_BYTES = 2**16
_OUTPUT_BYTES = 2**20
# Of what another machine answers, no more is taken; of its errors, so much.
MOST_ANSWER_BYTES, _ERROR_BYTES = 32 * 2**20, 1 << 16
# A program that has begun to answer pauses no longer than this.
_STALL_S = 20.0
# Of the last line of its errors, so much is kept.
_SAID_CHARS = 300


class TooMuchOutput(Exception):
    """A program printed more than its caller takes."""


class NoAnswer(ToolError):
    """No answer came, or an incomplete one: what was asked for may have been done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramAnswer:
    """How a program ended: its exit code, and what it printed."""

    code: int
    out: bytes = b""
    err: str = ""

    @property
    def text(self) -> str:
        return self.out.decode("utf-8", "replace")

    @property
    def said(self) -> str:
        """The last line of its errors, else its exit code."""
        lines = self.err.strip().splitlines()
        return lines[-1].strip()[:_SAID_CHARS] if lines else f"exit code {self.code}"


class ProgramOutput(NamedTuple):
    out: bytes
    err: bytes


def absolute_path(environ: Mapping[str, str]) -> str:
    """PATH without the elements that depend on the current folder."""
    elements = environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(e for e in elements if os.path.isabs(e))  # noqa: PTH117 - many, each time


def find_program(name: str, environ: Mapping[str, str]) -> str | None:
    """The path of a program, always absolute; None when there is none."""
    return shutil.which(name, path=absolute_path(environ))


def run_program(
    argv: Sequence[str],
    environ: Mapping[str, str],
    *,
    stdin: bytes = b"",
    timeout_s: float,
    cwd: str | None = None,
    host: str | None = None,
    most_bytes: int = MOST_ANSWER_BYTES,
) -> ProgramAnswer:
    """Run a program of this machine to its end; one without a folder is looked for in absolute folders of PATH alone.
    Raises NoAnswer when it takes too long, pauses for long or prints too much; it is ended then, with what it started.
    `host`: the machine that it speaks to, for errors."""
    program = argv[0] if "/" in argv[0] else find_program(argv[0], environ)
    if program is None:
        return ProgramAnswer(code=127, err=f"{argv[0]}: not found")
    # What it starts in the background may hold its stderr open for long: a file ends with nobody.
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        try:
            process = subprocess.Popen(
                [program, *argv[1:]],
                env=environ,
                cwd=cwd,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=errors,
                process_group=0,
            )
        except OSError as error:
            code = 127 if isinstance(error, FileNotFoundError) else 126
            return ProgramAnswer(code=code, err=f"{argv[0]}: {error.strerror or error}")
        name = Path(argv[0]).name if host is None else host
        try:
            out = collect(process, timeout_s=timeout_s, most_bytes=most_bytes, stall_s=_STALL_S).out
        except subprocess.TimeoutExpired as error:
            raise NoAnswer(
                f"{name} did not answer within {error.timeout:g} s", cause="the answer is incomplete"
            ) from None
        except TooMuchOutput:
            raise NoAnswer(
                f"{name} answered with more than {most_bytes >> 20} MiB", cause="logbook expects a shorter answer"
            ) from None
        finally:
            kill_group(process)
        # Whoever writes there goes on undisturbed.
        said = os.pread(errors.fileno(), _ERROR_BYTES, 0).decode("utf-8", "replace")
        return ProgramAnswer(code=process.returncode, out=out, err=said)


def output_of(argv: Sequence[str], environ: Mapping[str, str], *, timeout_s: float) -> bytes | None:
    """What a program prints; None when it cannot be started, fails, takes too long or prints more than 1 MiB."""
    try:
        answer = run_program(argv, environ, timeout_s=timeout_s, most_bytes=_OUTPUT_BYTES)
    except NoAnswer:
        return None
    return answer.out if answer.code == 0 else None


def collect(
    process: subprocess.Popen[bytes], *, timeout_s: float, most_bytes: int, stall_s: float = math.inf
) -> ProgramOutput:
    """All that a process prints until it ends. Raises TimeoutExpired, also for a pause of `stall_s` within its output,
    and TooMuchOutput, and leaves it running."""
    deadline, limit_s = time.monotonic() + timeout_s, timeout_s
    pipes = {pipe: bytearray() for pipe in (process.stdout, process.stderr) if pipe is not None}
    with selectors.DefaultSelector() as waiting:
        for pipe in pipes:
            waiting.register(pipe, selectors.EVENT_READ)
        while waiting.get_map():
            ready = waiting.select(max(0.0, min(limit_s, deadline - time.monotonic())))
            if not ready:
                raise subprocess.TimeoutExpired(process.args, limit_s)
            for key, _ in ready:
                data = os.read(key.fd, _READ_BYTES)
                pipe = next(pipe for pipe in pipes if pipe is key.fileobj)
                pipes[pipe] += data
                if not data:
                    waiting.unregister(key.fileobj)
                if len(pipes[pipe]) > most_bytes:
                    raise TooMuchOutput
            limit_s = min(timeout_s, stall_s)
    process.wait(timeout=max(0.0, deadline - time.monotonic()))
    for pipe in pipes:
        pipe.close()
    return ProgramOutput(*(bytes(pipes[p]) if p is not None else b"" for p in (process.stdout, process.stderr)))


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """End a process that leads its group, and what it started; nothing for one that has ended."""
    signal_group(process)
    process.wait()
    close_pipes(process)


def signal_group(process: subprocess.Popen[bytes]) -> None:
    """Send SIGKILL to a process that leads its group, and to what it started."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def close_pipes(process: subprocess.Popen[bytes]) -> None:
    """Close the pipes of a process without reading them to the end: a process that lives on may hold them open."""
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
