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
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_READ_BYTES = 2**16
_OUTPUT_BYTES = 2**20


class TooMuchOutput(Exception):
    """A program printed more than its caller takes."""


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


def output_of(argv: Sequence[str], environ: Mapping[str, str], *, timeout_s: float) -> bytes | None:
    """What a program prints; None when it cannot be started, fails, takes too long or prints more than 1 MiB."""
    try:
        process = subprocess.Popen(
            argv,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
    except OSError:
        return None
    try:
        found = collect(process, timeout_s=timeout_s, most_bytes=_OUTPUT_BYTES)
    except (subprocess.TimeoutExpired, TooMuchOutput):
        return None
    finally:
        kill_group(process)
    return found.out if process.returncode == 0 else None


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
