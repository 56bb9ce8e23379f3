"""How far the run of a spool is, by what stands in its folder; the start and the end of its worker. Here and on other
machines; only the standard library is used."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from logbook_agent.store.processes import end_command, group_lives, this_host
from logbook_agent.store.run_files import BEGAN, ERRORS, FINAL, LOCK, SEEN

if TYPE_CHECKING:
    import subprocess

# How long a worker may take to say who it is.
_NAMED_S = 10.0
_PAUSE_S = 0.02


def plain(path: Path) -> Any:
    """The mapping in a file of JSON; None where there is none that can be read."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def is_held(lock: Path) -> bool:
    """Whether a process that lives holds a lock."""
    with contextlib.suppress(FileNotFoundError), lock.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def stage_of(folder: Path) -> Any:
    """How far a run is (`Stage`), where no other machine makes it. An end counts when nobody holds the folder any more:
    what is there while its worker works was written by somebody else."""
    has_begun = (folder / BEGAN).exists()
    if is_held(folder / LOCK):
        waits = (folder / SEEN).exists() and not has_begun and not (folder / FINAL).exists()
        return "sent" if waits else "running"
    # After it was asked who holds it: the end may come between the two.
    if plain(folder / FINAL) is not None:
        return "ended"
    holder = plain(folder / LOCK) or {}
    if holder.get("host", this_host()) != this_host():
        return "elsewhere"
    if (group := holder.get("group")) is not None and group_lives(group, holder.get("mark", "")):
        return "orphaned"
    return "lost" if (folder / BEGAN).exists() else "never-started"


def start_worker(
    words: Sequence[str], folder: Path, environ: Mapping[str, str], *, cwd: str | None = "/", lock: int | None = None
) -> subprocess.Popen[bytes]:
    """Start a worker that outlives this process, and inherits the lock. What it complains of goes to its folder."""
    import subprocess  # questions need none

    with (folder / ERRORS).open("ab") as errors:
        return subprocess.Popen(
            [*words, str(folder), *(("--lock", str(lock)) if lock is not None else ())],
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            cwd=cwd,
            start_new_session=True,
            pass_fds=(lock,) if lock is not None else (),
        )


def stop_worker(folder: Path) -> int | None:
    """Ask the worker to end its command; end a command that outlived it. The process group that does not end."""
    deadline = time.monotonic() + _NAMED_S
    while (stage := stage_of(folder)) in ("sent", "running") and time.monotonic() < deadline:
        pid = (plain(folder / LOCK) or {}).get("pid", os.getpid())
        # Until the worker is named, the lock names nobody, or the client that started it.
        if pid != os.getpid() and is_held(folder / LOCK):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
            return None
        time.sleep(_PAUSE_S)
    holder = plain(folder / LOCK) or {}
    is_ended = stage != "orphaned" or end_command(holder["group"], holder.get("mark", ""))
    return None if is_ended else int(holder["group"])
