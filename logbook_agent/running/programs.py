"""Other programs that this one starts: found in absolute folders of PATH alone, bounded in time and output.

An empty or relative element of PATH would find a program in the current folder, which may be a pulled branch.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from logbook_agent.model.errors import CommandNotFound, NotExecutable, ToolError, UsageError

_READ_BYTES = 2**16
_OUTPUT_BYTES = 2**20
# Of what another machine answers, no more is taken; of its errors, so much.
MOST_ANSWER_BYTES, _ERROR_BYTES = 32 * 2**20, 1 << 16
# Exit codes of a program that could not be started.
NOT_STARTED = (126, 127)
# A program that has begun to answer pauses no longer than this.
_STALL_S = 20.0
# Time to remove its lock files for a program that was asked to stop.
_STOP_S = 5.0
# Of the last line of its errors, so much is kept.
_SAID_CHARS = 300


class NoAnswer(ToolError):
    """No answer came, or an incomplete one: what was asked for may have been done."""


class ProgramAnswer(Struct, frozen=True, kw_only=True):
    """How a program ended: its exit code, and what it printed."""

    code: int
    out: bytes = b""
    err: str = ""

    @property
    def text(self) -> str:
        return self.out.decode("utf-8", "replace")

    @property
    def words(self) -> str:
        """Its errors, without the blanks around them."""
        return self.err.strip()

    def lines(self) -> list[str]:
        return os.fsdecode(self.out).splitlines()

    @property
    def said(self) -> str:
        """The last line of its errors, else its exit code."""
        lines = self.words.splitlines()
        return lines[-1].strip()[:_SAID_CHARS] if lines else f"exit code {self.code}"


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
    stall_s: float | None = None,
    cwd: str | None = None,
    name: str | None = None,
    most_bytes: int = MOST_ANSWER_BYTES,
    asks: bool = False,
) -> ProgramAnswer:
    """Run a program of this machine to its end; one without a folder is looked for in absolute folders of PATH alone.
    Raises NoAnswer when it takes too long, pauses for long or prints too much; it is ended then, with what it started.

    `name`: what errors call it. `asks`: it may ask on the terminal, which a process group of its own could not, and is
    asked to stop before it is killed.
    """
    program, name = argv[0] if "/" in argv[0] else find_program(argv[0], environ), name or Path(argv[0]).name
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
                process_group=None if asks else 0,
            )
        except OSError as error:
            code = 127 if isinstance(error, FileNotFoundError) else 126
            return ProgramAnswer(code=code, err=f"{argv[0]}: {error.strerror or error}")
        try:
            out = _collected(process, name, timeout_s=timeout_s, most_bytes=most_bytes, stall_s=stall_s or _STALL_S)
        except subprocess.TimeoutExpired as error:
            raise NoAnswer(
                f"{name} did not answer within {error.timeout:g} s", cause="the answer is incomplete"
            ) from None
        finally:
            _end(process, gently=asks)
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


def _collected(
    process: subprocess.Popen[bytes], name: str, *, timeout_s: float, most_bytes: int, stall_s: float
) -> bytes:
    """What a process prints until it ends. Raises TimeoutExpired, also for a pause of `stall_s` within its output, and
    NoAnswer for more than `most_bytes`, and leaves it running."""
    assert process.stdout is not None  # noqa: S101
    deadline, limit_s, found = time.monotonic() + timeout_s, timeout_s, bytearray()
    with selectors.DefaultSelector() as waiting:
        waiting.register(process.stdout, selectors.EVENT_READ)
        while True:
            if not waiting.select(max(0.0, min(limit_s, deadline - time.monotonic()))):
                raise subprocess.TimeoutExpired(process.args, limit_s)
            data = os.read(process.stdout.fileno(), _READ_BYTES)
            found += data
            if not data:
                break
            if len(found) > most_bytes:
                raise NoAnswer(
                    f"{name} answered with more than {most_bytes >> 20} MiB", cause="logbook expects a shorter answer"
                )
            limit_s = min(timeout_s, stall_s)
    process.wait(timeout=max(0.0, deadline - time.monotonic()))
    return bytes(found)


def _end(process: subprocess.Popen[bytes], *, gently: bool) -> None:
    """End a process that still runs; one that leads its group, with what it started. Its pipe is not read to the end:
    a process that lives on may hold it open."""
    if gently and process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_STOP_S)
        process.kill()
    elif process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


# -- where the program of a command is -------------------------------------------------------------


_SHELL_WORDS = frozenset(
    {"cd", "source", ".", "export", "alias", "for", "while", "if", "eval", "exec", "set", "ulimit", "unset"}
)


def resolve(argv: Sequence[str], env: Mapping[str, str], cwd: Path) -> str:
    """The full path of `argv[0]`, found as the child would find it. Symbolic links are kept: a virtual
    environment's python is one.

    Raises UsageError (no command), CommandNotFound or NotExecutable.
    """
    if not argv or not argv[0]:
        raise UsageError("no command to run", cause="nothing follows --", hint="logbook run -- COMMAND ...")
    name = argv[0]
    if "/" in name:
        return _by_path(name, cwd)
    blocked: Path | None = None
    for folder in env.get("PATH", os.defpath).split(os.pathsep):
        path = cwd / (folder or ".") / name
        # Not Path.is_file: that fails where a folder of PATH may not be looked into.
        if os.path.isfile(path):  # noqa: PTH113
            if os.access(path, os.X_OK):
                return _absolute(path)
            blocked = blocked or path
    if blocked is not None:
        raise _not_executable(blocked)
    raise _not_found(name, argv, env, cwd)


def _by_path(name: str, cwd: Path) -> str:
    path = cwd / Path(name).expanduser() if name.startswith("~") else cwd / name
    if path.is_dir():
        raise NotExecutable(f"cannot run {name}", cause="it is a directory", hint=f"ls {name}")
    if not path.exists():
        where = "" if Path(name).is_absolute() else f" in {cwd}"
        hint = f"ls {os.path.dirname(name)}"  # noqa: PTH120 - as it was typed: an address is no path
        raise CommandNotFound(f"command not found: {name}", cause=f"no such file{where}", hint=hint)
    if not os.access(path, os.X_OK):
        raise _not_executable(path)
    return _absolute(path)


def _absolute(path: Path) -> str:
    return os.path.abspath(path)  # noqa: PTH100 - `resolve` would follow links


def _not_executable(path: Path) -> NotExecutable:
    hint = f"python {path}" if path.suffix == ".py" else f"chmod +x {path}"
    return NotExecutable(f"cannot run {path}", cause="the file is not marked executable", hint=hint)


def _not_found(name: str, argv: Sequence[str], env: Mapping[str, str], cwd: Path) -> CommandNotFound:
    message = f"command not found: {name}"
    if len(argv) == 1 and " " in name:
        cause = "the whole command line was given as one word"
        return CommandNotFound(message, cause=cause, hint="leave out the quotes, or add --shell")
    if name in _SHELL_WORDS:
        rest = " ".join(argv)
        return CommandNotFound(message, cause="it is a word of the shell, not a program", hint=f"bash -lc {rest!r}")
    if (cwd / name).is_file():
        cause = "it is a file here, but . is not on PATH"
        return CommandNotFound(message, cause=cause, hint=f"./{name}")
    close = _close_names(name, env)
    hint = f"did you mean {' or '.join(close)}?" if close else f"install it, or check: command -v {name}"
    return CommandNotFound(message, cause="it is not on PATH", hint=hint)


def _close_names(name: str, env: Mapping[str, str]) -> list[str]:
    import difflib

    names: set[str] = set()
    for folder in env.get("PATH", os.defpath).split(os.pathsep):
        try:
            names.update(n for n in os.listdir(folder or ".") if abs(len(n) - len(name)) <= 2)  # noqa: PTH208
        except OSError:
            continue
    return difflib.get_close_matches(name, sorted(names), n=2, cutoff=0.75)
