"""What a process does that is to outlive the terminal and the shell that it was started from."""

from __future__ import annotations

import os
import signal

# What a shell may have had ignored, by `nohup` or in the background, and the command would inherit.
_RESET = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD)


def own_session() -> None:
    """Signals as a fresh process has them, and a session of its own, which no terminal ends."""
    for number in _RESET:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if os.getsid(0) != os.getpid() and os.getpgid(0) != os.getpid():
        os.setsid()
