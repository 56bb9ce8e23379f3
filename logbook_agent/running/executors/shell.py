"""Programs run on the machine that an executor speaks to: this one, or another behind `ssh`."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from logbook_agent.model.errors import ToolError
from logbook_agent.running.executors.contract import NoAnswer
from logbook_agent.running.programs import TooMuchOutput, close_pipes, collect, find_program, signal_group

# A word that begins so lies in the home of whoever runs the program there.
HOME = "~/"
_SAID_CHARS = 300
# Of what a program answers, no more is taken; pieces of logs are far smaller. Of what is fetched into a file, more.
MOST_ANSWER_BYTES = 32 * 2**20
MOST_BYTES = 2**30


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


def run_program(
    argv: Sequence[str],
    environ: Mapping[str, str],
    *,
    stdin: bytes,
    timeout_s: float,
    cwd: str | None = None,
    host: str | None = None,
    most_bytes: int = MOST_ANSWER_BYTES,
) -> ShellAnswer:
    """Run a program of this machine to its end; one without a folder is looked for in absolute folders of PATH alone.
    Raises NoAnswer when it takes too long or prints too much; it is ended then, with what it started. `host`: the
    machine that it speaks to, for errors."""
    # What it starts in the background may hold its stderr open for long: a file ends with nobody.
    with tempfile.TemporaryFile() as errors:
        process = popen(argv, environ, errors=errors.fileno(), cwd=cwd)
        if isinstance(process, ShellAnswer):
            return process
        name = Path(argv[0]).name if host is None else host
        out = _answer_of(process, stdin, name, timeout_s, most_bytes)
        errors.seek(0)
        return ShellAnswer(code=process.returncode, out=out, err=errors.read(2**16).decode("utf-8", "replace"))


def popen(
    argv: Sequence[str], environ: Mapping[str, str], *, errors: int, cwd: str | None = None
) -> subprocess.Popen[bytes] | ShellAnswer:
    """A program of this machine that has been started in a group of its own; how a shell would end where it cannot."""
    program = argv[0] if "/" in argv[0] else find_program(argv[0], environ)
    if program is None:
        return ShellAnswer(code=127, err=f"{argv[0]}: not found")
    try:
        return subprocess.Popen(
            [program, *argv[1:]],
            env=environ,
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            process_group=0,
        )
    except FileNotFoundError:
        return ShellAnswer(code=127, err=f"{argv[0]}: not found")
    except OSError as error:
        return ShellAnswer(code=126, err=f"{argv[0]}: {error.strerror or error}")


def _answer_of(process: subprocess.Popen[bytes], stdin: bytes, name: str, timeout_s: float, most_bytes: int) -> bytes:
    """What a process prints until it ends, given this input."""
    feeder = threading.Thread(target=_feed, args=(process, stdin), daemon=True)
    feeder.start()
    try:
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
