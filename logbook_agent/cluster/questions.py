"""What is asked of another machine: `far.py` is sent there with the first question, and answers the following, too."""

from __future__ import annotations

import functools
import io
import json
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from logbook_agent.cluster import far
from logbook_agent.cluster.session import Session
from logbook_agent.cluster.shell import Shell, ShellAnswer, brief
from logbook_agent.model.errors import ToolError
from logbook_agent.running.executors.contract import NoAnswer, Unavailable, nothing_sent

# What a shell says when it finds no Python; from the second on it counts the signals that ended a program.
_NO_PROGRAM, _SIGNAL = 127, 128
# A machine that did not answer is asked nothing for so long.
_SILENCE_S = 5.0
# Who can see the processes of that machine sees no request.
_BOOT = "import sys; exec(sys.stdin.buffer.read({length}))"


class Questions:
    """Asks `far.py` on the machine that `shell` leads to, by the Python of this name there."""

    def __init__(self, shell: Shell, python: str) -> None:
        self._shell, self._python = shell, python
        self._name = shell.host or "this host"
        self._session: Session | None = None
        self._asked = float("-inf")
        self._lock = threading.Lock()
        # Until when, by the monotonic clock, the machine is not asked again, and what failed.
        self._silence: tuple[float, ToolError] | None = None

    def ask(
        self, verb: str, request: Mapping[str, object], *, timeout_s: float = 60.0, into: IO[bytes] | None = None
    ) -> tuple[dict[str, Any], bytes]:
        """The line of JSON of an answer, and the bytes behind it, unless a file takes them. Raises ToolError; NoAnswer
        where it was cut off, and may have done what was asked."""
        if self._silence is not None and time.monotonic() < self._silence[0]:
            with nothing_sent():
                raise self._silence[1]
        rest = io.BytesIO() if into is None else into
        with self._lock:
            try:
                head = self._answer(json.dumps([verb, request]).encode(), timeout_s, rest)
            except (NoAnswer, Unavailable) as error:
                self.silence(error)
                raise
        self._silence = None
        if "error" in head:
            raise ToolError(f"logbook failed on {self._name}", cause=brief(str(head["error"])))
        return head, rest.getvalue() if isinstance(rest, io.BytesIO) else b""

    def silence(self, error: ToolError) -> None:
        """Ask nothing for a while: each question fails with this error."""
        self._silence = time.monotonic() + _SILENCE_S, error

    def _answer(self, request: bytes, timeout_s: float, into: IO[bytes]) -> dict[str, Any]:
        session, self._session = self._session, None
        # One that was forgotten may be ending just now.
        if session is None or time.monotonic() - self._asked > far.IDLE_S / 2:
            source = f"{far_source()}\n\nserve()\n".encode()
            words = self._shell.words([self._python, "-IS", "-c", _BOOT.format(length=len(source))])
            session = Session(words, self._shell.environ, source, name=self._name, check=self._check)
        line = session.ask(request, timeout_s=timeout_s, into=into)
        try:
            head = json.loads(line)
        except (ValueError, RecursionError):
            head = None
        if not isinstance(head, dict):
            raise NoAnswer(f"{self._name} did not answer a request", cause="its answer cannot be read")
        self._session, self._asked = session, time.monotonic()
        return head

    def _check(self, answer: ShellAnswer) -> None:
        """Raises ToolError where the program there failed."""
        self._shell.checked(answer)
        if answer.code == _NO_PROGRAM:
            raise ToolError(
                f"{self._python} not found on {self._name}",
                cause=answer.said,
                hint="name a Python 3.11 or later of that machine in the settings: python = '/path/to/python3'",
            )
        if not 0 <= answer.code < _SIGNAL:
            raise NoAnswer(f"logbook was cut off on {self._name}", cause=answer.said)
        if answer.code != 0:
            raise ToolError(f"logbook failed on {self._name}", cause=brief(answer.said))


@functools.cache
def far_source() -> str:
    """The text of `far.py`."""
    return Path(far.__file__).read_text(encoding="utf-8")
