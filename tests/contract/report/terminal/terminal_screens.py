"""A terminal of the tests: a command on a pseudo-terminal, and its screen as a person sees it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pyte

from tests.contract.e2e.e2e_support import LOGBOOK

_PATIENCE_S = 60.0


class Screen:
    """A command on a terminal of `columns`."""

    def __init__(self, words: Sequence[str], cwd: Path, columns: int, environ: Mapping[str, str]) -> None:
        self._there, here = pty.openpty()
        self._screen = pyte.HistoryScreen(columns, 40, history=1000)
        self._stream = pyte.ByteStream(self._screen)
        self.raw = b""
        self.resize(columns)
        own = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
        self.process = subprocess.Popen(
            [*LOGBOOK, *words],
            cwd=cwd,
            env={**own, "TERM": "xterm-256color", **environ},
            stdin=here,
            stdout=here,
            stderr=here,
            # Of the session of its parent: the group is no orphan, so Ctrl-Z stops it.
            process_group=0,
        )
        os.close(here)

    def resize(self, columns: int) -> None:
        """Make the window wider or narrower."""
        fcntl.ioctl(self._there, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self._screen.resize(40, columns)

    def lines(self) -> list[str]:
        """What stands on the screen, without empty lines."""
        return [line.rstrip() for line in self._screen.display if line.strip()]

    def colour(self, text: str) -> str:
        """The colour of the first place where the text stands."""
        found_at = [(row, line.index(text)) for row, line in enumerate(self._screen.display) if text in line]
        assert found_at, self.lines()
        row, at = found_at[0]
        found: str = self._screen.buffer[row][at].fg
        return found

    def until(self, holds: Callable[[list[str]], bool]) -> list[str]:
        """Read on until the screen is so; what stands there then."""
        end = time.monotonic() + _PATIENCE_S
        while not holds(self.lines()):
            assert time.monotonic() < end, self.lines()
            assert self._read(0.05), self.lines()
        return self.lines()

    def ended(self) -> list[str]:
        """The screen when the command has ended."""
        end = time.monotonic() + _PATIENCE_S
        while self._read(0.5) and time.monotonic() < end:
            pass
        self.process.wait(_PATIENCE_S)
        return self.lines()

    def _read(self, wait_s: float) -> bool:
        """Take what comes; False at the end."""
        if not select.select([self._there], [], [], wait_s)[0]:
            return True
        try:
            data = os.read(self._there, 65536)
        except OSError:  # the other end is closed
            return False
        self.raw += data
        self._stream.feed(data)
        return bool(data)

    def close(self) -> None:
        """End the command if it runs."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._there)


@contextlib.contextmanager
def on_screen(*words: str, cwd: Path, columns: int = 80, **environ: str) -> Iterator[Screen]:
    """The screen of `logbook WORDS`."""
    screen = Screen(words, cwd, columns, environ)
    try:
        yield screen
    finally:
        screen.close()
