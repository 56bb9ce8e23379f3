"""The output of a run: its log on disk, redacted, and bounded excerpts of it."""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable
from pathlib import Path

from logbook_agent.model.errors import StoreError
from logbook_agent.model.run import Output
from logbook_agent.running.launch.process import Stream
from logbook_agent.store.folder import Folder
from logbook_agent.text.escapes import visible, without_escapes
from logbook_agent.text.redaction.redactor import Redactor
from logbook_agent.text.redaction.stream import StreamRedactor

MAX_LOG_BYTES = 256 * 1024 * 1024
HEAD_LINES = 20
TAIL_LINES = 40
ERROR_LINES = 20
LINE_CHARACTERS = 500
# Of one line; what is shown of it is much shorter.
_LINE_BYTES = 64 * 1024
Redact = Callable[[str], str]


class OutputLog:
    """The log of a run, which takes both streams as they were read. Its new file stays below `files`.

    What is safe is handed to the operating system at once, so that it survives the death of the tool; only a
    line that is not complete may be held back, up to the next `idle`. A disk that fails does not end the run:
    the log stops there, and `problems` says so.
    """

    def __init__(
        self,
        path: Path,
        redactor: Redactor,
        *,
        files: Folder,
        max_bytes: int = MAX_LOG_BYTES,
    ) -> None:
        self._file = _LogFile(path, files, max_bytes)
        self._redactors: dict[Stream, StreamRedactor] = {
            "stdout": StreamRedactor(redactor),
            "stderr": StreamRedactor(redactor),
        }
        self._collectors: dict[Stream, LineCollector] = {"stdout": LineCollector(), "stderr": LineCollector()}
        self._keep = max(HEAD_LINES, TAIL_LINES, ERROR_LINES)
        self._both = Excerpt(HEAD_LINES, TAIL_LINES, redactor.text)
        self._errors = Excerpt(0, ERROR_LINES, redactor.text)
        self._lines = 0
        self._open_line: dict[Stream, bool] = {"stdout": False, "stderr": False}
        self.bytes = 0

    @property
    def problems(self) -> tuple[str, ...]:
        return self._file.problems

    def feed(self, stream: Stream, data: bytes) -> None:
        self.bytes += len(data)
        self._lines += data.count(b"\n")
        if data:
            self._open_line[stream] = not data.endswith(b"\n")
        self._take(stream, self._redactors[stream].feed(data))

    def idle(self) -> None:
        """Nothing came for a moment: what is safe of the incomplete lines goes to the log too."""
        for stream, redactor in self._redactors.items():
            self._take(stream, redactor.flush_idle())

    def finish(self) -> Output:
        """Closes the log. `bytes` and `lines` count what was printed, the digest is that of the log."""
        for stream, redactor in self._redactors.items():
            self._take(stream, redactor.finish())
        for stream, collector in self._collectors.items():
            self._show(stream, collector.finish())
        self._file.close()
        return Output(
            bytes=self.bytes,
            lines=self._lines + sum(self._open_line.values()),
            sha256=self._file.digest.hexdigest(),
            head=self._both.head(),
            tail=self._both.tail(),
            error_tail=self._errors.tail(),
            log_bytes=self._file.written,
            truncated=self._file.truncated,
        )

    def _take(self, stream: Stream, safe: bytes) -> None:
        if safe:
            self._file.write(safe)
            self._show(stream, self._collectors[stream].feed(safe, self._keep))

    def _show(self, stream: Stream, lines: list[tuple[bytes, int]]) -> None:
        self._both.add(lines)
        if stream == "stderr":
            self._errors.add(lines)


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

    def write(self, data: bytes) -> None:
        if self._fd is None:
            self.truncated = True
            return
        room = self._max - self.written
        if len(data) <= room:
            self._put(data)
            return
        end = b"" if data[:room].endswith(b"\n") or (not room and not self.written) else b"\n"
        self._put(
            data[:room] + end + b"[logbook] the log ends here: it reached its size limit of %d bytes\n" % self._max
        )
        self.truncated = True
        self.close()

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


# -- readable excerpts -----------------------------------------------------------------------------


def readable(line: bytes, redact: Redact, cut_bytes: int = 0) -> str:
    """One line as a person would have seen it: without colours, the last state of a progress bar, cut.

    `cut_bytes`: how much of the line was left out before. Redacted once more, since a colour code may have
    stood inside a secret.
    """
    states = [s for s in (without_escapes(s) for s in line.decode("utf-8", "replace").split("\r")) if s.strip()]
    text = visible(redact(states[-1] if states else ""), in_line=True)
    more = max(0, len(text) - LINE_CHARACTERS) + cut_bytes
    return f"{text[:LINE_CHARACTERS]}… (+{more} characters)" if more else text


class LineCollector:
    """Bytes of one stream into whole lines, each with the number of bytes left out of it."""

    def __init__(self) -> None:
        self._pending = bytearray()
        self._cut = 0

    def feed(self, data: bytes, keep: int) -> list[tuple[bytes, int]]:
        """The first `keep` and last `keep` of the lines that the data completes."""
        first, newline, rest = data.partition(b"\n")
        self._hold(first)
        if not newline:
            return []
        lines = [(bytes(self._pending), self._cut)]
        self._pending.clear()
        self._cut = 0
        end = rest.rfind(b"\n")
        if end >= 0:
            lines += [_bounded(line) for line in _ends(rest[:end], keep)]
        self._hold(rest[end + 1 :])
        return lines

    def finish(self) -> list[tuple[bytes, int]]:
        """The last line, when it has no end."""
        last = [(bytes(self._pending), self._cut)] if self._pending else []
        self._pending.clear()
        return last

    def _hold(self, data: bytes) -> None:
        # A progress bar draws over itself: what it drew before need not be kept.
        drawn = data.rstrip(b"\r").rfind(b"\r")
        if drawn >= 0 and data[drawn + 1 :].strip():
            self._pending.clear()
            self._cut = 0
            data = data[drawn + 1 :]
        elif self._pending.endswith(b"\r") and data.strip(b"\r\n "):
            self._pending.clear()
            self._cut = 0
        room = _LINE_BYTES - len(self._pending)
        self._pending += data[:room]
        self._cut += max(0, len(data) - room)


def _ends(block: bytes, keep: int) -> list[bytes]:
    lines = block.split(b"\n")
    return lines if len(lines) <= 2 * keep else lines[:keep] + lines[-keep:]


def _bounded(line: bytes) -> tuple[bytes, int]:
    return line[:_LINE_BYTES], max(0, len(line) - _LINE_BYTES)


class Excerpt:
    """The first and the last lines of what it is given."""

    def __init__(self, head: int, tail: int, redact: Redact) -> None:
        self._redact = redact
        self._head_lines = head
        self._head: list[str] = []
        self._tail: deque[tuple[bytes, int]] = deque(maxlen=tail)

    def add(self, lines: list[tuple[bytes, int]]) -> None:
        for line in lines[: self._head_lines - len(self._head)]:
            self._head.append(readable(line[0], self._redact, line[1]))
        self._tail.extend(lines)

    def head(self) -> tuple[str, ...]:
        return tuple(self._head)

    def tail(self) -> tuple[str, ...]:
        return tuple(readable(line, self._redact, cut) for line, cut in self._tail)
