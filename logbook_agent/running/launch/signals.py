"""Requests to stop the tool (Ctrl-C, TERM, HUP), caught instead of obeyed while commands run."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequests:
    """Counts the requests; `wakeup` becomes readable on any signal, so that a `select` ends at once.

    Only the main thread can catch signals; elsewhere nothing is caught and `wakeup` is never readable.
    A signal that is ignored already (`nohup`, a background job) stays ignored. Who makes a series of runs holds them
    over all of it, and looks at `count` before each: what comes between two runs is no less a request.
    """

    def __init__(self) -> None:
        self.count = 0
        self.last = 0
        self._taken = 0
        self.wakeup, self._write = os.pipe()
        os.set_blocking(self.wakeup, False)
        os.set_blocking(self._write, False)
        self._before: dict[int, Any] = {}
        self._wakeup_before = -1

    def __enter__(self) -> StopRequests:
        if threading.current_thread() is threading.main_thread():
            self._wakeup_before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
            for number in _STOPS:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._catch(number, self._count)
            # The default would not wake anyone; an inherited "ignore" would lose the exit status.
            self._catch(signal.SIGCHLD, lambda number, frame: None)
        return self

    def _catch(self, number: int, handler: Callable[[int, FrameType | None], None]) -> None:
        self._before[number] = signal.signal(number, handler)

    def _count(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        self.last = number

    def take(self) -> bool:
        """Whether a request came that nobody has taken yet; now it is. A command started later is not ended by it."""
        asked = self.count > self._taken
        self._taken = self.count
        return asked

    def clear_wakeup(self) -> None:
        try:
            while os.read(self.wakeup, 512):
                pass
        except BlockingIOError:
            pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            # None: a handler that was not installed from Python, which cannot be put back.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        if self._before:
            signal.set_wakeup_fd(self._wakeup_before)
        os.close(self.wakeup)
        os.close(self._write)
