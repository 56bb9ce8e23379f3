"""Runs programs on the machine that an executor speaks to, this one or another behind `ssh`: to their end, or as one
that stays and answers requests (`far.py`)."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shlex
import subprocess
import tempfile
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, Protocol

from logbook_agent.running.executors.contract import NoAnswer
from logbook_agent.running.programs import TooMuchOutput, close_pipes, collect, find_program, kill_group

# A word that begins so lies in the home of whoever runs the program there.
HOME = "~/"
_SAID_CHARS = 300
# Of what a program answers, no more is taken; pieces of logs are far smaller. A file that is fetched may be longer.
MOST_ANSWER_BYTES, MOST_BYTES = 32 * 2**20, 2**30
_READ_BYTES, _ERROR_BYTES = 1 << 16, 1 << 16
# An answer that has begun to come may pause for so long.
_STALL_S = 20.0
_END_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellAnswer:
    """How a program ended: its exit code, and what it printed."""

    code: int
    out: bytes = b""
    err: str = ""

    @property
    def said(self) -> str:
        """The last line of its errors, else its exit code."""
        lines = self.err.strip().splitlines()
        return lines[-1].strip()[:_SAID_CHARS] if lines else f"exit code {self.code}"


class Hangup(Exception):
    """The program has ended: `answer` tells how."""

    def __init__(self, answer: ShellAnswer) -> None:
        super().__init__(answer.said)
        self.answer = answer


class Shell(Protocol):
    """Runs programs there. `host` names the machine as the settings do; None: this one."""

    @property
    def host(self) -> str | None: ...

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60.0) -> ShellAnswer:
        """Run a program to its end. A word that begins with `~/` lies in the home there.

        Raises Unavailable when the machine cannot be reached, NoAnswer when it does not answer in time, or answers too
        much.
        """

    def converse(self, argv: Sequence[str], *, timeout_s: float = 60.0) -> Conversation:
        """Start a program that answers requests. Raises Hangup when it ends instead, and as `run`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """This machine."""

    environ: Mapping[str, str]

    @property
    def host(self) -> str | None:
        return None

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60.0) -> ShellAnswer:
        return run_program(self._words(argv), self.environ, stdin=stdin, timeout_s=timeout_s)

    def converse(self, argv: Sequence[str], *, timeout_s: float = 60.0) -> Conversation:
        return Conversation(self._words(argv), self.environ, timeout_s=timeout_s)

    def _words(self, argv: Sequence[str]) -> list[str]:
        home = self.environ.get("HOME", "/")
        return [f"{home}/{word[len(HOME) :]}" if word.startswith(HOME) else word for word in argv]


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
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        process = _popen(argv, environ, stdin=given.fileno(), errors=errors.fileno(), cwd=cwd)
        if isinstance(process, ShellAnswer):
            return process
        name = Path(argv[0]).name if host is None else host
        try:
            out = collect(process, timeout_s=timeout_s, most_bytes=most_bytes).out
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
            kill_group(process)
        return ShellAnswer(code=process.returncode, out=out, err=_errors_in(errors))


def _popen(
    argv: Sequence[str], environ: Mapping[str, str], *, stdin: int, errors: int, cwd: str | None = None
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
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=errors,
            process_group=0,
        )
    except FileNotFoundError:
        return ShellAnswer(code=127, err=f"{argv[0]}: not found")
    except OSError as error:
        return ShellAnswer(code=126, err=f"{argv[0]}: {error.strerror or error}")


def _errors_in(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(_ERROR_BYTES).decode("utf-8", "replace")


def as_text(argv: Sequence[str]) -> str:
    """The words as a shell there reads them."""
    return " ".join(
        f'"$HOME"/{shlex.quote(word[len(HOME) :])}' if word.startswith(HOME) else shlex.quote(word) for word in argv
    )


class Conversation:
    """A program that stays, and its answers. It is ended when this object goes."""

    def __init__(
        self, argv: Sequence[str], environ: Mapping[str, str], *, timeout_s: float, host: str | None = None
    ) -> None:
        """Start the program, and wait until it is ready. `host`: the machine that it speaks to, for errors. Raises
        Hangup where it ends instead, and NoAnswer."""
        # What the program starts in the background may hold its stderr open for long: a file ends with nobody.
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the program
        started = _popen(argv, environ, stdin=subprocess.PIPE, errors=self._errors.fileno())
        if isinstance(started, ShellAnswer):
            self._errors.close()
            raise Hangup(started)
        self._name = Path(argv[0]).name if host is None else host
        self._process, self._left, self._unsent = started, bytearray(), b""
        self.end = weakref.finalize(self, _end, started, self._errors)
        assert started.stdin is not None  # noqa: S101
        assert started.stdout is not None  # noqa: S101
        self._to, self._of = started.stdin.fileno(), started.stdout.fileno()
        for pipe in (self._to, self._of):
            os.set_blocking(pipe, False)
        self._exchange(b"", timeout_s, None)

    @property
    def is_over(self) -> bool:
        """Whether the program is known to have ended."""
        return self._process.poll() is not None

    def ask(
        self, request: Mapping[str, object], timeout_s: float, into: BinaryIO | None = None
    ) -> tuple[dict[str, Any], bytes]:
        """The line of JSON that answers, and the bytes behind it; `into` takes these, and may take more of them. Raises
        Hangup where the program ended, and NoAnswer; after either it is ended."""
        return self._exchange(json.dumps(request).encode() + b"\n", timeout_s, into)

    def _exchange(self, data: bytes, timeout_s: float, into: BinaryIO | None) -> tuple[dict[str, Any], bytes]:
        self._unsent, began = data, time.monotonic()
        try:
            while b"\n" not in self._left:
                if len(self._left) > MOST_ANSWER_BYTES:
                    raise NoAnswer(
                        f"{self._name} answered with more than {MOST_ANSWER_BYTES >> 20} MiB",
                        cause="logbook expects a shorter answer",
                    )
                if not self._turn(began + timeout_s):
                    raise NoAnswer(
                        f"{self._name} did not answer within {timeout_s:g} s", cause="the answer was incomplete"
                    )
            head, size = self._head(MOST_ANSWER_BYTES if into is None else MOST_BYTES)
            return head, self._received(size, began, timeout_s, into)
        except BaseException:
            self.end()
            raise

    def _head(self, most: int) -> tuple[dict[str, Any], int]:
        """The first line, and how many bytes stand behind it. Raises NoAnswer for one that is no answer."""
        line, _, self._left = self._left.partition(b"\n")
        try:
            head = json.loads(bytes(line))
        except (ValueError, RecursionError):
            head = None
        size = head.pop("follows", None) if isinstance(head, dict) else None
        if not isinstance(head, dict) or type(size) is not int or size < 0:
            raise NoAnswer(f"{self._name} did not answer a request", cause="its answer cannot be read")
        if size > most:
            raise NoAnswer(f"{self._name} has more than {most >> 20} MiB to send", cause="logbook expects less")
        return head, size

    def _received(self, size: int, began: float, timeout_s: float, into: BinaryIO | None) -> bytes:
        """So many bytes behind the first line; empty where a file takes them. Raises NoAnswer where they come too
        slowly."""
        came = 0
        while True:
            if into is not None:
                came += into.write(self._left[: size - came])
                self._left.clear()
            else:
                came = len(self._left)
            if came >= size:
                break
            if not self._turn(min(began + timeout_s, time.monotonic() + _STALL_S)):
                raise NoAnswer(
                    f"{self._name} sent {came:,} of {size:,} bytes in {time.monotonic() - began:.0f} s",
                    cause="the connection is stalled",
                )
        if into is not None:
            return b""
        rest = bytes(self._left[:size])
        del self._left[:size]
        return rest

    def _turn(self, deadline: float) -> bool:
        """Write some of the request and read some of the answer; False where neither was possible in time."""
        wait_s = max(0.0, deadline - time.monotonic())
        ready, free, _ = select.select([self._of], [self._to] if self._unsent else [], [], wait_s)
        if ready:
            came = os.read(self._of, _READ_BYTES)
            if not came:
                raise Hangup(self._how_it_ended())
            self._left += came
        if free:
            try:
                self._unsent = self._unsent[os.write(self._to, self._unsent[:_READ_BYTES]) :]
            except BrokenPipeError:
                self._unsent = b""  # what it said before is still to be read
        return bool(ready or free)

    def _how_it_ended(self) -> ShellAnswer:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
        said = _errors_in(self._errors)
        self.end()
        return ShellAnswer(code=self._process.returncode, out=bytes(self._left), err=said)


def _end(process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
    errors.close()
    close_pipes(process)
    kill_group(process)
