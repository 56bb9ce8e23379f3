"""A program on another machine that answers one request after another, as long as somebody asks.

To start it costs more than to answer: whoever follows a run asks every second.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import IO, NoReturn

from logbook_agent.cluster.shell import MOST_ANSWER_BYTES, ShellAnswer, said_in, started, too_late, too_much
from logbook_agent.running.executors.contract import NoAnswer
from logbook_agent.running.programs import close_pipes, kill_group

# What stands behind the line of an answer may be longer than that, and may pause for so long.
MOST_BYTES, _STALL_S = 2**30, 20.0
_READ_BYTES, _LENGTH_BYTES = 1 << 16, 20
# A program that has closed its side is about to end.
_ENDING_S = 5.0


class Session:
    """A program on the machine `name` that answers requests, one after another, until either side ends it. `check`
    raises what its end means.

    An answer is a line, and bytes behind it in pieces, each behind its own length; a length of 0 ends them.
    """

    def __init__(
        self,
        argv: Sequence[str],
        environ: Mapping[str, str],
        stdin: bytes,
        *,
        name: str,
        check: Callable[[ShellAnswer], object] = lambda answer: None,
    ) -> None:
        self._name, self._check = name, check
        self._errors, self._given = tempfile.TemporaryFile(), stdin  # noqa: SIM115 - `_leave`
        process = started(argv, environ, stdin=subprocess.PIPE, errors=self._errors, cwd=None)
        if isinstance(process, ShellAnswer):
            self._errors.close()
            check(process)
            raise self._unreadable()
        assert process.stdin is not None  # noqa: S101
        assert process.stdout is not None  # noqa: S101
        self._process, self._in, self._out = process, process.stdin.fileno(), process.stdout.fileno()
        os.set_blocking(self._in, False)
        self._buffer = bytearray()
        self._until = self._limit_s = 0.0
        weakref.finalize(self, _leave, process, self._errors)

    def ask(self, request: bytes, *, timeout_s: float, into: IO[bytes]) -> bytes:
        """The line of the answer; the bytes behind it go into a file. Raises NoAnswer where it is incomplete, too late
        or too long; the program is ended then."""
        self._limit_s, self._until = timeout_s, time.monotonic() + timeout_s
        try:
            self._write(self._given + request + b"\n")
            self._given = b""
            line, size = self._line(MOST_ANSWER_BYTES), 0
            while length := self._length():
                size += length
                if size > MOST_BYTES:
                    raise too_much(self._name, MOST_BYTES)
                while length:
                    if not self._buffer:
                        self._read(_STALL_S)
                    piece = self._buffer[:length]
                    into.write(piece)
                    del self._buffer[: len(piece)]
                    length -= len(piece)
        except BaseException:
            kill_group(self._process)
            raise
        return line

    def _write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            if not select.select([], [self._in], [], self._left_s())[1]:
                raise too_late(self._name, self._limit_s)
            try:
                left = left[os.write(self._in, left) :]
            except BrokenPipeError:
                self._end()

    def _line(self, most_bytes: int) -> bytes:
        size = 0
        while (end := self._buffer.find(b"\n", size)) < 0:
            size = len(self._buffer)
            if size > most_bytes:
                raise too_much(self._name, most_bytes)
            self._read(self._limit_s)
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    def _length(self) -> int:
        line = self._line(_LENGTH_BYTES)
        if not line.isdigit():
            raise self._unreadable()
        return int(line)

    def _read(self, pause_s: float) -> None:
        """Have more in the buffer."""
        limit_s = min(pause_s, self._limit_s)
        if not select.select([self._out], [], [], min(limit_s, self._left_s()))[0]:
            raise too_late(self._name, limit_s)
        data = os.read(self._out, _READ_BYTES)
        if not data:
            self._end()
        self._buffer += data

    def _left_s(self) -> float:
        return max(0.0, self._until - time.monotonic())

    def _end(self) -> NoReturn:
        """The program has closed its side."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDING_S)
        kill_group(self._process)
        self._check(ShellAnswer(code=self._process.returncode, err=said_in(self._errors)))
        raise self._unreadable()

    def _unreadable(self) -> NoAnswer:
        return NoAnswer(f"{self._name} did not answer a request", cause="its answer cannot be read")


# Programs that were left, and end by themselves when their input does: an object that is forgotten would complain.
_left: list[subprocess.Popen[bytes]] = []


def _leave(process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
    close_pipes(process)
    errors.close()
    _left[:] = [one for one in (*_left, process) if one.poll() is None]
