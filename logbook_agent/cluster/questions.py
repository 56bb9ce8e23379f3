"""What is asked of another machine: the code of workers is brought there with the first question, and answers it
(`far.py`)."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import IO, Any

from logbook_agent.cluster.sent_code import Places, worker_code
from logbook_agent.cluster.shell import MOST_ANSWER_BYTES, Shell, ShellAnswer, brief
from logbook_agent.model.errors import ToolError
from logbook_agent.running.executors.contract import NoAnswer, Unavailable, nothing_sent

# What is brought behind the line of an answer may be longer.
MOST_BYTES = 2**30
# What a shell says when it finds no Python; from the second on it counts the signals that ended a program. What the
# program below says when it needs the code.
_NO_PROGRAM, _SIGNAL, _NO_CODE = 127, 128, 77
# A machine that did not answer is asked nothing for so long.
_SILENCE_S = 5.0
# Who can see the processes of that machine sees no request. The code is unpacked under another name first: nobody meets
# half of it.
_BOOT = f"""import os, sys
folder, line = os.path.expanduser(sys.argv[1]), sys.stdin.buffer.readline()
if not os.path.isdir(folder):
    import io, shutil, tarfile
    if not (code := sys.stdin.buffer.read(int(sys.argv[2]))):
        sys.exit({_NO_CODE})
    part = folder + "." + os.urandom(6).hex()
    os.makedirs(part, 0o700)
    tarfile.open(fileobj=io.BytesIO(code)).extractall(part)
    try:
        os.rename(part, folder)
    except OSError:
        shutil.rmtree(part)
sys.path.insert(0, folder)
from logbook_agent.cluster.far import answer
answer(line)
"""


class Questions:
    """Asks `far.py` on the machine that `shell` leads to, by the Python and in the folder that `places` name."""

    def __init__(self, shell: Shell, places: Places) -> None:
        self._shell, self._places = shell, places
        self._name = shell.host or "this host"
        # Until when, by the monotonic clock, the machine is not asked again, and what failed.
        self._silence: tuple[float, ToolError] | None = None

    @property
    def code_folder(self) -> str:
        """Where the worker's code lies there."""
        return f"{self._places.folder}/code/{worker_code().digest}"

    def ask(
        self,
        verb: str,
        request: Mapping[str, object],
        *,
        data: bytes = b"",
        timeout_s: float = 60.0,
        into: IO[bytes] | None = None,
    ) -> tuple[dict[str, Any], bytes]:
        """The line of JSON of an answer, and the bytes behind it, which are to be read from a file where there is one.
        `data` follows the request. Raises ToolError; NoAnswer where it was cut off: what was asked may have been
        done."""
        if self._silence is not None and time.monotonic() < self._silence[0]:
            with nothing_sent():
                raise self._silence[1]
        try:
            head, rest = self._answer(json.dumps([verb, request]).encode() + b"\n", data, timeout_s, into)
        except (NoAnswer, Unavailable) as error:
            self.silence(error)
            raise
        self._silence = None
        if "error" in head:
            raise ToolError(f"logbook failed on {self._name}", cause=brief(str(head["error"])))
        return head, rest

    def silence(self, error: ToolError) -> None:
        """Ask nothing for a while: each question fails with this error."""
        self._silence = time.monotonic() + _SILENCE_S, error

    def _answer(
        self, request: bytes, data: bytes, timeout_s: float, into: IO[bytes] | None
    ) -> tuple[dict[str, Any], bytes]:
        words = [self._places.python, "-IS", "-c", _BOOT, self.code_folder]
        most = MOST_ANSWER_BYTES if into is None else MOST_BYTES

        def run(code: bytes) -> ShellAnswer:
            stdin, size = request + code + data, str(len(code))
            return self._shell.run([*words, size], stdin=stdin, timeout_s=timeout_s, into=into, most_bytes=most)

        found = run(b"")
        if found.code == _NO_CODE:
            found = run(worker_code().archive())
        self._check(found)
        line, _, rest = found.out.partition(b"\n")
        if into is not None:
            into.seek(0)
            line = into.readline(MOST_ANSWER_BYTES)
        try:
            head = json.loads(line)
        except (ValueError, RecursionError):
            head = None
        if not isinstance(head, dict):
            raise NoAnswer(f"{self._name} did not answer a request", cause="its answer cannot be read")
        return head, rest

    def _check(self, answer: ShellAnswer) -> None:
        """Raises ToolError where the program there failed."""
        if answer.code == _NO_PROGRAM:
            raise ToolError(
                f"{self._places.python} not found on {self._name}",
                cause=answer.said,
                hint="name a Python 3.11 or later of that machine in the settings: python = '/path/to/python3'",
            )
        if not 0 <= answer.code < _SIGNAL:
            raise NoAnswer(f"logbook was cut off on {self._name}", cause=answer.said)
        if answer.code != 0:
            raise ToolError(f"logbook failed on {self._name}", cause=brief(answer.said))
