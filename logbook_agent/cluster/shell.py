"""Runs programs on the machine that an executor speaks to: this one, or another behind `ssh`."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from logbook_agent.running.executors.contract import NoAnswer
from logbook_agent.running.programs import TooMuchOutput, collect, find_program, kill_group

# A word that begins so lies in the home of whoever runs the program there.
HOME = "~/"
_SAID_CHARS = 300
# Of what a program answers, no more is taken; pieces of logs are far smaller. A file that is fetched may be longer.
MOST_ANSWER_BYTES, MOST_BYTES = 32 * 2**20, 2**30
_ERROR_BYTES = 1 << 16
# A file that has begun to come may pause for so long.
_STALL_S, _PAUSE_S = 20.0, 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellAnswer:
    """How a program ended: its exit code, and what it printed, unless a file took that."""

    code: int
    out: bytes = b""
    err: str = ""

    @property
    def said(self) -> str:
        """The last line of its errors, else its exit code."""
        lines = self.err.strip().splitlines()
        return lines[-1].strip()[:_SAID_CHARS] if lines else f"exit code {self.code}"


class Shell(Protocol):
    """Runs programs there. `host` names the machine as the settings do; None: this one."""

    @property
    def host(self) -> str | None: ...

    def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60.0, into: IO[bytes] | None = None
    ) -> ShellAnswer:
        """Run a program to its end; its output goes `into` a file where there is one. A word that begins with `~/` lies
        in the home there.

        Raises Unavailable when the machine cannot be reached, NoAnswer when it does not answer in time, or answers too
        much.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """This machine."""

    environ: Mapping[str, str]

    @property
    def host(self) -> str | None:
        return None

    def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60.0, into: IO[bytes] | None = None
    ) -> ShellAnswer:
        home = self.environ.get("HOME", "/")
        words = [f"{home}/{word[len(HOME) :]}" if word.startswith(HOME) else word for word in argv]
        return run_program(words, self.environ, stdin=stdin, timeout_s=timeout_s, into=into)


def run_program(
    argv: Sequence[str],
    environ: Mapping[str, str],
    *,
    stdin: bytes,
    timeout_s: float,
    into: IO[bytes] | None = None,
    cwd: str | None = None,
    host: str | None = None,
    most_bytes: int | None = None,
) -> ShellAnswer:
    """Run a program of this machine to its end; one without a folder is looked for in absolute folders of PATH alone.
    Raises NoAnswer when it takes too long or prints too much; it is ended then, with what it started. `host`: the
    machine that it speaks to, for errors."""
    program = argv[0] if "/" in argv[0] else find_program(argv[0], environ)
    if program is None:
        return ShellAnswer(code=127, err=f"{argv[0]}: not found")
    most_bytes = most_bytes or (MOST_ANSWER_BYTES if into is None else MOST_BYTES)
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
                stdout=subprocess.PIPE if into is None else into,
                stderr=errors,
                process_group=0,
            )
        except OSError as error:
            code = 127 if isinstance(error, FileNotFoundError) else 126
            return ShellAnswer(code=code, err=f"{argv[0]}: {error.strerror or error}")
        name = Path(argv[0]).name if host is None else host
        try:
            if into is None:
                out = collect(process, timeout_s=timeout_s, most_bytes=most_bytes).out
            else:
                out = _filled(process, into, timeout_s, most_bytes)
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
        errors.seek(0)
        return ShellAnswer(code=process.returncode, out=out, err=errors.read(_ERROR_BYTES).decode("utf-8", "replace"))


def _filled(process: subprocess.Popen[bytes], into: IO[bytes], timeout_s: float, most_bytes: int) -> bytes:
    """Wait for a program that fills a file. Raises as `collect`, also where the file does not grow for long."""
    until, size, grew = time.monotonic() + timeout_s, 0, time.monotonic()
    while process.poll() is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_PAUSE_S)
        now, before, size = time.monotonic(), size, os.fstat(into.fileno()).st_size
        grew = now if size > before else grew
        if size > most_bytes:
            raise TooMuchOutput
        if now > until or now - grew > _STALL_S:
            raise subprocess.TimeoutExpired(process.args, timeout_s if now > until else _STALL_S)
    return b""


def as_text(argv: Sequence[str]) -> str:
    """The words as a shell there reads them."""
    return " ".join(
        f'"$HOME"/{shlex.quote(word[len(HOME) :])}' if word.startswith(HOME) else shlex.quote(word) for word in argv
    )
