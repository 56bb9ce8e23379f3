"""What is asked of another machine: each question starts `far.py` there, and the code of workers is brought with the
first one."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Mapping
from typing import Any

from logbook_agent.cluster.far import Piece
from logbook_agent.cluster.sent_code import Places, worker_code
from logbook_agent.cluster.shell import Shell, brief
from logbook_agent.model.errors import ToolError
from logbook_agent.running.executors.contract import Unavailable, nothing_sent
from logbook_agent.running.programs import MOST_ANSWER_BYTES, NoAnswer, ProgramAnswer

# A machine that did not answer is asked nothing for so long.
_SILENCE_S = 5.0
# What a shell says when it finds no Python; from the second on it counts the signals that ended a program. What the
# program below says when it needs the code.
_NO_PROGRAM, _SIGNAL, _NO_CODE = 127, 128, 77
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
    """Asks `far.py` on the machine that `shell` leads to, which errors call `place`."""

    def __init__(self, shell: Shell, places: Places, place: str) -> None:
        self._shell, self._places, self._place = shell, places, place
        # Until when, by the monotonic clock, the machine is not asked again, and what failed.
        self._silence: tuple[float, ToolError] | None = None

    @property
    def code_folder(self) -> str:
        """Where the worker's code lies there."""
        return f"{self._places.folder}/code/{worker_code().digest}"

    def ask(
        self, verb: str, request: Mapping[str, object], *, data: bytes = b"", timeout_s: float = 60.0
    ) -> tuple[dict[str, Any], list[tuple[str, Piece]]]:
        """The line of JSON of an answer, and the pieces of files behind it. `data` follows the request. Raises
        ToolError; NoAnswer where it was cut off: what was asked may have been done."""
        if self._silence is not None and time.monotonic() < self._silence[0]:
            with nothing_sent():
                raise self._silence[1]
        try:
            head, pieces = self._answer(json.dumps([verb, request]).encode() + b"\n", data, timeout_s)
        except (NoAnswer, Unavailable) as error:
            self.silenced(error)
            raise
        self._silence = None
        if "error" in head:
            raise ToolError(f"logbook failed on {self._place}", cause=brief(str(head["error"])))
        return head, pieces

    def silenced(self, error: ToolError) -> ToolError:
        """The error, with which questions fail for a while."""
        self._silence = time.monotonic() + _SILENCE_S, error
        return error

    def _answer(self, request: bytes, data: bytes, timeout_s: float) -> tuple[dict[str, Any], list[tuple[str, Piece]]]:
        def run(code: bytes) -> ProgramAnswer:
            words = [self._places.python, "-IS", "-c", _BOOT, self.code_folder, str(len(code))]
            return self._shell.run(words, stdin=request + code + data, timeout_s=timeout_s)

        answer = run(b"")
        if answer.code == _NO_CODE:
            answer = run(worker_code().packed())
        self._check(answer)
        line, _, rest = answer.out.partition(b"\n")
        try:
            head = json.loads(line)
            unpacked = zlib.decompressobj()
            whole, pieces, start = unpacked.decompress(rest, MOST_ANSWER_BYTES), [], 0
            if unpacked.unconsumed_tail:
                raise ValueError("too much")
            for folder, name, at, size in head.pop("pieces"):
                pieces.append((str(folder), (str(name), int(at), whole[start : start + int(size)])))
                start += int(size)
        except (ValueError, TypeError, KeyError, RecursionError, zlib.error):
            raise NoAnswer(f"{self._place} did not answer a request", cause="its answer cannot be read") from None
        return head, pieces

    def _check(self, answer: ProgramAnswer) -> None:
        """Raises ToolError where the program there failed."""
        if answer.code == _NO_PROGRAM:
            raise ToolError(
                f"{self._places.python} not found on {self._place}",
                cause=answer.said,
                hint="name a Python 3.11 or later of that machine in the settings: python = '/path/to/python3'",
            )
        if not 0 <= answer.code < _SIGNAL:
            raise NoAnswer(f"logbook was cut off on {self._place}", cause=answer.said)
        if answer.code != 0:
            raise ToolError(f"logbook failed on {self._place}", cause=brief(answer.said))
