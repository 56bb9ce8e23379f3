"""Programs run on the machine that an executor speaks to: this one, or another behind `ssh`."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from logbook_agent.model.errors import ToolError
from logbook_agent.running.executors.contract import NoAnswer
from logbook_agent.running.programs import TooMuchOutput, close_pipes, collect, find_program, signal_group

# A word that begins so lies in the home of whoever runs the program there.
HOME = "~/"
_SAID_CHARS = 300
# Of what a program answers, no more is taken; pieces of logs are far smaller. Of what is fetched into a file, more.
MOST_ANSWER_BYTES = 32 * 2**20
MOST_BYTES = 2**30
# What is fetched comes at least so fast (bytes/s), once it had so long (s) to begin.
_SLOWEST, _BEGIN_S = 8192, 20.0
_LOOK_S = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellAnswer:
    """How a program ended: its exit code, and what it printed."""

    code: int
    out: bytes = b""
    err: str = ""

    @property
    def said(self) -> str:
        """The last line that it complained in, else its exit code."""
        lines = self.err.strip().splitlines()
        return lines[-1].strip()[:_SAID_CHARS] if lines else f"exit code {self.code}"


class Shell(Protocol):
    """Runs programs there. `host` names the machine as the settings do; None: this one."""

    @property
    def host(self) -> str | None: ...

    def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60.0, into: BinaryIO | None = None
    ) -> ShellAnswer:
        """Run a program to its end. A word that begins with `~/` lies in the home there. With `into`, what it prints is
        written to this file, and is not in the answer.

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
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60.0, into: BinaryIO | None = None
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
    cwd: str | None = None,
    into: BinaryIO | None = None,
    host: str | None = None,
    most_bytes: int = MOST_ANSWER_BYTES,
) -> ShellAnswer:
    """Run a program of this machine to its end; one without a folder is looked for in absolute folders of PATH alone.
    Raises NoAnswer when it takes too long or prints too much; it is ended then, with what it started. `host`: the
    machine that it speaks to, for errors."""
    program = argv[0] if "/" in argv[0] else find_program(argv[0], environ)
    if program is None:
        return ShellAnswer(code=127, err=f"{argv[0]}: not found")
    # What it starts in the background may hold its stderr open for long: a file ends with nobody.
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                [program, *argv[1:]],
                env=environ,
                cwd=cwd,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if into is None else into,
                stderr=errors,
                process_group=0,
            )
        except FileNotFoundError:
            return ShellAnswer(code=127, err=f"{argv[0]}: not found")
        except OSError as error:
            return ShellAnswer(code=126, err=f"{argv[0]}: {error.strerror or error}")
        name = Path(argv[0]).name if host is None else host
        out = _answer_of(process, stdin, name, timeout_s, into, most_bytes)
        errors.seek(0)
        return ShellAnswer(code=process.returncode, out=out, err=errors.read(2**16).decode("utf-8", "replace"))


def _answer_of(
    process: subprocess.Popen[bytes], stdin: bytes, name: str, timeout_s: float, into: BinaryIO | None, most_bytes: int
) -> bytes:
    """What a process prints until it ends, given this input; nothing where that goes into a file."""
    feeder = threading.Thread(target=_feed, args=(process, stdin), daemon=True)
    feeder.start()
    try:
        if into is not None:
            _watch(process, into, name, timeout_s)
            return b""
        return collect(process, timeout_s=timeout_s, most_bytes=most_bytes).out
    except subprocess.TimeoutExpired:
        raise NoAnswer(
            f"{name} did not answer within {timeout_s:g} s", cause="the answer was not complete by then"
        ) from None
    except TooMuchOutput:
        raise NoAnswer(
            f"{name} answered with more than {most_bytes >> 20} MiB",
            cause="no answer that logbook expects is that long",
        ) from None
    finally:
        signal_group(process)
        process.wait()
        feeder.join()
        close_pipes(process)


def _watch(process: subprocess.Popen[bytes], into: BinaryIO, name: str, timeout_s: float) -> None:
    """Wait for the end of a process that writes into a file. Raises NoAnswer where that grows too slowly, or too
    far."""
    began = time.monotonic()
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_LOOK_S)
            return
        size, took_s = os.fstat(into.fileno()).st_size, time.monotonic() - began
        if size > MOST_BYTES:
            raise NoAnswer(
                f"{name} sent more than {MOST_BYTES >> 20} MiB", cause="the files of a run may take at most that much"
            )
        if took_s > timeout_s or (took_s > _BEGIN_S and size < took_s * _SLOWEST):
            raise NoAnswer(f"{name} sent {size:,} bytes in {took_s:.0f} s", cause="the connection is stalled or slow")


def _feed(process: subprocess.Popen[bytes], data: bytes) -> None:
    """Write the input of a process, which may end before it has read all of it."""
    assert process.stdin is not None  # noqa: S101
    with contextlib.suppress(OSError), process.stdin as pipe:
        pipe.write(data)


def as_text(argv: Sequence[str]) -> str:
    """The words as a shell there reads them."""
    return " ".join(
        f'"$HOME"/{shlex.quote(word[len(HOME) :])}' if word.startswith(HOME) else shlex.quote(word) for word in argv
    )


def private_folder(environ: Mapping[str, str]) -> Path:
    """A folder that only this user can enter, for sockets and other files that may be lost."""
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    folder = Path(runtime if os.path.isabs(runtime) else tempfile.gettempdir()) / f"logbook-{os.getuid()}"  # noqa: PTH117
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise ToolError(
            f"other users have access to {folder}",
            cause="logbook keeps ssh connections there, which only you may use",
            hint=f"chmod 700 {folder}",
        )
    return folder
