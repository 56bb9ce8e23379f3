"""Lines at the end of a terminal that are drawn again and again.

Rich's `Live` leaves the cursor below what it drew: a window that becomes narrower wraps those lines, and copies of them
stay. Here the cursor waits in front of the first line, so that erasing what is behind it is right in every width; and
bytes of a command can be printed between two drawings.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType

_ERASE = "\r\x1b[J"
_PLAIN = "\x1b[0m"
# A line that was made for a wider window is cut at its edge, and takes no second row.
_CROPPED, _WRAPPED = "\x1b[?7l", "\x1b[?7h"


class Region:
    """Draws on the terminal behind a descriptor; None: there is no terminal, and nothing is drawn."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        self._is_drawn = False

    def draw(self, lines: Sequence[str]) -> None:
        """Replace what is drawn. The lines must fit the width. A job in the background draws nothing."""
        if self._descriptor is None or not lines or not _is_in_front(self._descriptor):
            return
        up = f"\x1b[{len(lines) - 1}A" if len(lines) > 1 else ""
        self._is_drawn = True
        shown = "\r\n".join(lines)
        self._write(f"{_ERASE}{_PLAIN}{_CROPPED}{shown}{_PLAIN}{_WRAPPED}\r{up}")

    def erase(self) -> None:
        """Leave the cursor where the first line began."""
        if self._is_drawn:
            self._is_drawn = False
            self._write(_ERASE)

    def plain(self) -> None:
        """Take back colours that a command left on."""
        self._write(_PLAIN)

    def _write(self, text: str) -> None:
        if self._descriptor is None:
            return
        sys.stderr.flush()
        data = text.encode()
        # A terminal that was closed: the runs go on.
        with contextlib.suppress(OSError):
            while data:
                data = data[os.write(self._descriptor, data) :]


def _is_in_front(descriptor: int) -> bool:
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:
        return True  # not the terminal that controls this process


@contextlib.contextmanager
def erased_when_suspended(region: Region, redraw: Callable[[], None]) -> Iterator[None]:
    """Erase the region before Ctrl-Z stops this process, and draw it again when it continues."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def suspend(number: int, frame: FrameType | None) -> None:
        region.erase()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, suspend)
        redraw()

    before = signal.getsignal(signal.SIGTSTP)
    if before is signal.SIG_DFL:
        signal.signal(signal.SIGTSTP, suspend)
    try:
        yield
    finally:
        if before is signal.SIG_DFL:
            signal.signal(signal.SIGTSTP, before)
        region.erase()
