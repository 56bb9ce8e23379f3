"""The output of a run as its worker keeps it: the log on disk, without the values of known secrets, and its readable
lines; and the excerpt of such a log."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path

from msgspec import structs

from logbook_agent.model.code import CHECKOUT
from logbook_agent.model.errors import StoreError
from logbook_agent.model.worker_report import Output
from logbook_agent.running.launch.process import Stream
from logbook_agent.store.folder import Folder
from logbook_agent.text.phrases import visible, without_escapes
from logbook_agent.text.redaction.known_values import KnownValues, ValueStream

MAX_LOG_BYTES = 256 * 1024 * 1024
TAIL_LINES = 40
ERROR_LINES = 20
LINE_CHARACTERS = 500
# Of one stream; what is shown of a line is much shorter.
_TAIL_BYTES = 64 * 1024
# Lines of results that the log does not hold are kept beside it, up to so many characters.
_RESULT, _UNLOGGED_CHARS = re.compile(rb"(?:RESULT|METRIC)(?:_JSON)?:?[ \t]+([^\r\n]+)"), 1 << 20
_LAST_CHARACTERS = 120
_MOST_BREAKS = 10_000
Redact = Callable[[str], str]


class OutputLog:
    """The log of a run, which takes both streams as they were read. Its new file stays below `files`.

    What is safe is handed to the operating system at once, so that it survives the death of the tool; only a
    line that is not complete may be held back, up to the next `idle`. A disk that fails does not end the run: the log
    stops there, and `problems` says so.
    """

    def __init__(
        self,
        path: Path,
        values: KnownValues,
        *,
        files: Folder,
        max_bytes: int = MAX_LOG_BYTES,
    ) -> None:
        self._file, self._redact = _LogFile(path, files, max_bytes), values.text
        self._streams: dict[Stream, ValueStream] = {
            "stdout": ValueStream(values),
            "stderr": ValueStream(values),
        }
        self._lines = 0
        self._open_line: dict[Stream, bool] = {"stdout": False, "stderr": False}
        # The stream whose line stands open at the end of the log.
        self._within: Stream | None = None
        self._tail, self._errors, self._last = b"", b"", b""
        # The lines of results that the log does not hold, because it is full or the disk is.
        self.unlogged, self._room = list[str](), _UNLOGGED_CHARS
        # Where a line of one stream is broken off by the other, in bytes of the log.
        self.breaks = list[int]()
        # Where the log ends within a line, because it is full or the disk is: up to where it has whole ones.
        self.whole_bytes: int | None = None
        self.bytes = 0

    @property
    def problems(self) -> tuple[str, ...]:
        return self._file.problems

    @property
    def last(self) -> str | None:
        """The last result, short; None before the first."""
        return readable(self._last, self._redact)[:_LAST_CHARACTERS] if self._last else None

    def feed(self, stream: Stream, data: bytes) -> None:
        self.bytes += len(data)
        self._lines += data.count(b"\n")
        if data:
            self._open_line[stream] = not data.endswith(b"\n")
        self._take(stream, self._streams[stream].feed(data))

    def idle(self) -> None:
        """Nothing came for a moment: what is safe of the incomplete lines goes to the log too."""
        for stream, safe in self._streams.items():
            self._take(stream, safe.idle())

    def finish(self) -> Output:
        """Closes the log. `bytes` and `lines` count what was printed, the digest is that of the log."""
        for stream, safe in self._streams.items():
            self._take(stream, safe.finish())
        self._file.close()
        return Output(
            bytes=self.bytes,
            lines=self._lines + sum(self._open_line.values()),
            sha256=self._file.digest.hexdigest(),
            # What the log holds is read from there.
            tail=self._shown(self._tail, TAIL_LINES) if self._file.truncated else (),
            error_tail=self._shown(self._errors, ERROR_LINES),
            log_bytes=self._file.written,
            truncated=self._file.truncated,
        )

    def _shown(self, data: bytes, count: int) -> tuple[str, ...]:
        lines = data.removesuffix(b"\n").split(b"\n")[-count:] if data else []
        return tuple(readable(line, self._redact) for line in lines)

    def _take(self, stream: Stream, safe: bytes) -> None:
        if not safe:
            return
        before = self._file.written
        if self._within not in (None, stream) and len(self.breaks) < _MOST_BREAKS:
            self.breaks.append(before)
        if (taken := self._file.write(safe)) < len(safe):
            self._keep_rest(safe, taken, before)
        self._within = None if safe.endswith(b"\n") else stream
        self._tail = (self._tail + safe)[-_TAIL_BYTES:]
        if stream == "stderr":
            self._errors = (self._errors + safe)[-_TAIL_BYTES:]
        at = max(safe.rfind(b"RESULT"), safe.rfind(b"METRIC"))
        if (found := _RESULT.match(safe, at) if at >= 0 else None) is not None:
            self._last = found[1]

    def _keep_rest(self, data: bytes, taken: int, before: int) -> None:
        """Keep the results in data of which the log took so much, behind what it held before."""
        whole = data.rfind(b"\n", 0, taken) + 1
        if self.whole_bytes is None:
            self.whole_bytes = before + whole
        for line in data[whole:].split(b"\n"):
            if (b"RESULT" in line or b"METRIC" in line) and len(line) <= self._room:
                self._room -= len(line)
                self.unlogged.append(line.decode("utf-8", "replace"))


class _LogFile:
    """A new file that takes what fits, and stops at its cap or at the first failure."""

    def __init__(self, path: Path, files: Folder, max_bytes: int) -> None:
        self.digest = hashlib.sha256()
        self.written = 0
        self.truncated = False
        self.problems: tuple[str, ...] = ()
        self._path, self._max = path, max_bytes
        self._fd: int | None = None
        try:
            self._fd = files.create_log(path)
        except (OSError, StoreError) as error:
            self._fail("the log could not be opened", error)

    def write(self, data: bytes) -> int:
        """How much of the data was taken."""
        if self._fd is None:
            self.truncated = True
            return 0
        room, before = self._max - self.written, self.written
        if len(data) <= room:
            self._put(data)
            return self.written - before
        end = b"" if data[:room].endswith(b"\n") or (not room and not self.written) else b"\n"
        self._put(
            data[:room] + end + b"[logbook] the log ends here: it reached its size limit of %d bytes\n" % self._max
        )
        self.truncated = True
        self.close()
        return min(room, self.written - before)

    def _put(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest and self._fd is not None:
                count = os.write(self._fd, rest)
                self.digest.update(rest[:count])
                self.written += count
                rest = rest[count:]
        except OSError as error:
            self._fail("the log is cut off: it could not be written", error)
            self.truncated = True
            self.close()

    def _fail(self, what: str, error: OSError | StoreError) -> None:
        said = error.strerror if isinstance(error, OSError) else error.message
        self.problems += (f"{what} ({self._path.name}: {said})",)

    def close(self) -> None:
        fd, self._fd = self._fd, None
        if fd is None:
            return
        try:
            os.close(fd)
        except OSError as error:
            self._fail("the log could not be closed", error)


# -- readable lines ------------------------------------------------------------------------------


def readable(line: bytes, redact: Redact, *, is_cut: bool = False) -> str:
    """One line as a person would have seen it: without colours, the last state of a progress bar, cut; paths in a
    checkout begin at its top. `is_cut`: nobody counted what is missing of it.

    Redacted once more, since a colour code may have stood inside a secret.
    """
    states = [s for s in (without_escapes(s) for s in line.decode("utf-8", "replace").split("\r")) if s.strip()]
    text = CHECKOUT.sub(".", visible(redact(states[-1] if states else ""), in_line=True))
    more = len(text) - LINE_CHARACTERS
    if is_cut:
        return f"{text[:LINE_CHARACTERS]}…"
    return f"{text[:LINE_CHARACTERS]}… (+{more} characters)" if more > 0 else text


# -- the first and last lines of a log -------------------------------------------------------------


HEAD_LINES = 20
# Of the beginning and of the end of a log, so much is looked at.
_SHOWN_BYTES = 256 * 1024


class LogExcerpt:
    """Feed it the log; `output` says what it holds."""

    def __init__(self, redact: Redact) -> None:
        self._redact = redact
        self._digest, self._size, self._count = hashlib.sha256(), 0, 0
        self._head = self._tail = b""

    @property
    def digest(self) -> str:
        """The SHA-256 of what it was given."""
        return self._digest.hexdigest()

    def feed(self, data: bytes) -> None:
        self._digest.update(data)
        self._size += len(data)
        self._count += data.count(b"\n")
        self._head += data[: _SHOWN_BYTES - len(self._head)]
        self._tail = (self._tail + data[-_SHOWN_BYTES:])[-_SHOWN_BYTES:]

    def output(self, counted: Output | None) -> Output:
        """What was printed, as far as it reached the log, or as its worker has `counted` it; the last lines are the
        worker's where the log lacks them."""
        lines = self._count + (not self._tail.endswith(b"\n") and self._size > 0)
        is_whole = self._size <= _SHOWN_BYTES
        head, last = _lines_of(self._head), _lines_of(self._tail)
        # A line of which the beginning is missing is shown where there is no other.
        last = last if is_whole or len(last) == 1 else last[1:]
        counted = counted or Output(bytes=self._size, lines=lines, sha256="")
        return structs.replace(
            counted,
            sha256=self.digest,
            log_bytes=self._size,
            head=self._shown(head[:HEAD_LINES], is_cut=not is_whole and len(head) <= HEAD_LINES),
            tail=counted.tail or self._shown(last[-TAIL_LINES:], is_cut=not is_whole and len(last) == 1),
        )

    def _shown(self, lines: list[bytes], *, is_cut: bool) -> tuple[str, ...]:
        """The lines as a person reads them. `is_cut`: a part of the last one is missing."""
        end = len(lines) - is_cut
        return tuple(readable(line, self._redact, is_cut=place == end) for place, line in enumerate(lines))


def _lines_of(data: bytes) -> list[bytes]:
    return data.removesuffix(b"\n").split(b"\n") if data else []
