"""What is asked of another machine: each question starts `far.py` there, and the code of workers is brought with the
first one. What has come of the folder of a run is a copy that grows in the client's spool: a piece that came before is
written again as it was, so it does not matter who brings it, or how often."""

from __future__ import annotations

import json
import shlex
import textwrap
import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from logbook_agent.cluster.far import FILES, FOLDERS, Piece
from logbook_agent.cluster.sent_code import Places, worker_code
from logbook_agent.model.errors import StoreError, ToolError
from logbook_agent.running.executors.contract import Unavailable, nothing_sent
from logbook_agent.running.programs import MOST_ANSWER_BYTES, NoAnswer, ProgramAnswer, run_program
from logbook_agent.store.run_files import BEGAN, FINAL, HEARTBEAT
from logbook_agent.store.spool import Spool

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


# -- programs there --------------------------------------------------------------------------------


# A word that begins so lies in the home of whoever runs the program there.
HOME = "~/"
# Of what an engine says, so much is kept.
_KEPT_CHARS = 500


class Shell(Struct, frozen=True, kw_only=True):
    """Runs programs on this machine. Where `host` names another one, as the settings do, a subclass knows the way."""

    host: str | None = None
    environ: Mapping[str, str]

    def words(self, argv: Sequence[str]) -> list[str]:
        """The words by which a program there is started here; one that begins with `~/` lies in the home there. Raises
        ToolError."""
        home = self.environ.get("HOME", "/")
        return [f"{home}/{word[len(HOME) :]}" if word.startswith(HOME) else word for word in argv]

    def checked(self, answer: ProgramAnswer) -> ProgramAnswer:
        """The answer of a program. Raises Unavailable when the machine cannot be reached, NoAnswer when the connection
        was lost."""
        return answer

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60.0) -> ProgramAnswer:
        """Run a program to its end. Raises as `checked` and `run_program` do."""
        return self.checked(
            run_program(self.words(argv), self.environ, stdin=stdin, timeout_s=timeout_s, name=self.host)
        )


def as_text(argv: Sequence[str]) -> str:
    """The words as a shell there reads them."""
    return " ".join(
        f'"$HOME"/{shlex.quote(word[len(HOME) :])}' if word.startswith(HOME) else shlex.quote(word) for word in argv
    )


def brief(said: str) -> str:
    """What an engine says, on one line and no longer than is kept. No word is cut: half a secret is not known as
    one."""
    return textwrap.shorten(said, _KEPT_CHARS, placeholder=" …")


# -- the files of a run there ----------------------------------------------------------------------


# Of one file; of an end, which is kept in memory.
MOST_BYTES, MOST_END_BYTES = 2**30, 2**25
# Of the path of a file.
_MOST_PARTS = 10


class FarFiles:
    """Brings pieces of files into spools. An end is kept back until the other files are there."""

    def __init__(self) -> None:
        self._ends: dict[Path, bytes] = {}
        # What came last of the files that are replaced as a whole.
        self._records: dict[tuple[Path, str], bytes] = {}

    def bring(self, spool: Spool, name: str, at: int, data: bytes) -> None:
        """Write a piece of a file; nothing for what is no file of a run, and once the run was taken in. Raises
        StoreError."""
        if not spool.folder.is_dir():
            return
        most = MOST_END_BYTES if name == FINAL else MOST_BYTES
        if at + len(data) > most or at < 0:
            raise StoreError(f"cannot bring {name}", cause=f"it has more than {most >> 20} MiB")
        if name == FINAL:
            self._ends[spool.folder] = self._ends.get(spool.folder, b"")[:at] + data
        elif name in (BEGAN, HEARTBEAT) and at == 0:
            if self._records.get((spool.folder, name)) != data:
                spool.files.write(name, data, durable=False)
                self._records[spool.folder, name] = data
        elif name in FILES or _is_kept(name):
            spool.files.make((spool.folder / name).parent)
            spool.files.write_at(name, at, data)

    def finish(self, spool: Spool, *, has_end: bool = True) -> None:
        """All files of a run are there: write its end. Raises StoreError."""
        end = self._ends.pop(spool.folder, None)
        if has_end and end is not None:
            spool.files.write(FINAL, end)

    def sizes(self, spool: Spool) -> dict[str, int]:
        """How much of each file has come."""
        paths = [spool.folder / name for name in FILES]
        paths += [path for name in FOLDERS for path in (spool.folder / name).rglob("*")]
        found = {path.relative_to(spool.folder).as_posix(): path.stat().st_size for path in paths if path.is_file()}
        return found if (end := self._ends.get(spool.folder)) is None else {**found, FINAL: len(end)}


def _is_kept(name: str) -> bool:
    """Whether this is a file of the code or of the command."""
    parts = Path(name).parts
    return 1 < len(parts) < _MOST_PARTS and parts[0] in FOLDERS and ".." not in parts
