"""How the machine of an executor is spoken to: programs that run to their end there, and one that stays and answers
requests (`far.py`)."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import tempfile
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, BinaryIO, Protocol

from logbook_agent.running.executors.contract import NoAnswer
from logbook_agent.running.executors.shell import HOME, MOST_ANSWER_BYTES, MOST_BYTES, ShellAnswer, popen, run_program
from logbook_agent.running.programs import close_pipes, signal_group

_READ_BYTES = 1 << 16
# What is fetched comes at least so fast (bytes/s), once it had so long (s) to begin.
_SLOWEST, _BEGIN_S = 8192, 20.0
_ERROR_BYTES = 1 << 16
_END_S = 5.0


class Hangup(Exception):
    """The program has ended: `answer` tells how."""

    def __init__(self, answer: ShellAnswer) -> None:
        super().__init__(answer.said)
        self.answer = answer


class Conversation:
    """The program and its answers. It is ended when this object goes."""

    def __init__(
        self, argv: Sequence[str], environ: Mapping[str, str], *, timeout_s: float, host: str | None = None
    ) -> None:
        """Start the program, and wait until it is ready. `host`: the machine that it speaks to, for errors. Raises
        Hangup where it ends instead, and NoAnswer."""
        # What the program starts in the background may hold its stderr open for long: a file ends with nobody.
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the program
        started = popen(argv, environ, errors=self._errors.fileno())
        if isinstance(started, ShellAnswer):
            self._errors.close()
            raise Hangup(started)
        self._name = os.path.basename(argv[0]) if host is None else host  # noqa: PTH119
        self._process, self._left, self._searched, self._unsent = started, bytearray(), 0, b""
        self.end = weakref.finalize(self, _end, started, self._errors)
        for pipe in (started.stdin, started.stdout):
            assert pipe is not None  # noqa: S101
            os.set_blocking(pipe.fileno(), False)
        self._exchange(b"", timeout_s, None)

    @property
    def is_over(self) -> bool:
        """Whether the program is known to have ended."""
        return self._process.poll() is not None

    def ask(
        self, request: Mapping[str, Any], timeout_s: float, into: BinaryIO | None = None
    ) -> tuple[dict[str, Any], bytes]:
        """The line of JSON that answers, and the bytes behind it; `into` takes these, and may take more of them. Raises
        Hangup where the program ended, and NoAnswer; after either it is ended."""
        return self._exchange(json.dumps(request).encode() + b"\n", timeout_s, into)

    def _exchange(self, data: bytes, timeout_s: float, into: BinaryIO | None) -> tuple[dict[str, Any], bytes]:
        began = time.monotonic()
        try:
            while (head := self._head(into)) is None:
                if not self._turn(data, began + timeout_s):
                    raise NoAnswer(
                        f"{self._name} did not answer within {timeout_s:g} s", cause="the answer had no end by then"
                    )
                data = self._unsent
            self._receive(head["follows"], began, timeout_s, into)
        except BaseException:
            self.end()
            raise
        rest = b"" if into is not None else bytes(self._left[: head["follows"]])
        del self._left[: 0 if into is not None else head["follows"]]
        return {name: value for name, value in head.items() if name != "follows"}, rest

    def _head(self, into: BinaryIO | None) -> dict[str, Any] | None:
        """The first line, when it has come whole. Raises NoAnswer for one that is no answer."""
        at = self._left.find(b"\n", self._searched)
        self._searched = len(self._left)
        if at < 0 and len(self._left) <= MOST_ANSWER_BYTES:
            return None
        if at < 0:
            raise NoAnswer(
                f"{self._name} answered with more than {MOST_ANSWER_BYTES >> 20} MiB",
                cause="logbook asks for nothing that long",
            )
        try:
            head = json.loads(bytes(self._left[:at]))
        except (ValueError, RecursionError):
            head = None
        size = head.get("follows") if isinstance(head, dict) else None
        if not isinstance(head, dict) or type(size) is not int or size < 0:
            raise NoAnswer(f"{self._name} did not answer a request", cause="what it said cannot be read")
        most = MOST_ANSWER_BYTES if into is None else MOST_BYTES
        if size > most:
            raise NoAnswer(f"{self._name} has more than {most >> 20} MiB to send", cause="no run leaves that much")
        del self._left[: at + 1]
        self._searched = 0
        return head

    def _receive(self, size: int, began: float, timeout_s: float, into: BinaryIO | None) -> None:
        """Have so many bytes behind the first line, in the file where there is one. Raises NoAnswer where they come too
        slowly."""
        came = 0
        while True:
            if into is not None:
                came += into.write(self._left[: size - came])
                self._left.clear()
            else:
                came = len(self._left)
            if came >= size:
                return
            took_s = time.monotonic() - began
            is_slow = took_s > _BEGIN_S and came < took_s * _SLOWEST
            if is_slow or not self._turn(b"", min(began + timeout_s, time.monotonic() + _BEGIN_S)):
                raise NoAnswer(
                    f"{self._name} sent {came:,} of {size:,} bytes in {time.monotonic() - began:.0f} s",
                    cause="the connection is stalled or slow",
                )

    def _turn(self, data: bytes, deadline: float) -> bool:
        """Write some of a request and read some of an answer; False where neither was possible in time. What is left to
        be written is `_unsent`."""
        assert self._process.stdin is not None  # noqa: S101
        assert self._process.stdout is not None  # noqa: S101
        to, of = self._process.stdin.fileno(), self._process.stdout.fileno()
        ready, free, _ = select.select([of], [to] if data else [], [], max(0.0, deadline - time.monotonic()))
        self._unsent = data
        if ready:
            came = os.read(of, _READ_BYTES)
            if not came:
                raise Hangup(self._how_it_ended())
            self._left += came
        if free:
            try:
                self._unsent = data[os.write(to, data[:_READ_BYTES]) :]
            except BrokenPipeError:
                self._unsent = b""  # what it said before is still to be read
        return bool(ready or free)

    def _how_it_ended(self) -> ShellAnswer:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
        self._errors.seek(0)
        said = self._errors.read(_ERROR_BYTES).decode("utf-8", "replace")
        self.end()
        return ShellAnswer(code=self._process.returncode, out=bytes(self._left), err=said)


def _end(process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
    errors.close()
    close_pipes(process)
    signal_group(process)
    process.wait()


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
