"""The processes of this machine, by the marks of their commands.

On Linux /proc is read, at a hundredth of what importing psutil costs.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

HAS_PROC = sys.platform == "linux" and Path("/proc/stat").exists()
# The variables of a command, and of all that it starts: the whole name of its run, which marks it; the entry and the
# number of the run; and the file that it may write results to.
MARK, ENTRY_ID, RUN, RESULT_FILE = "LOGBOOK_MARK", "LOGBOOK_ENTRY_ID", "LOGBOOK_RUN", "LOGBOOK_RESULT_FILE"
# What marks the command of a setup that lives as long as the runs of its series.
SETUP = "LOGBOOK_SETUP"
# The signals that end a command, and the seconds that its processes have after each.
LADDER = ((signal.SIGINT, 5.0), (signal.SIGTERM, 5.0), (signal.SIGKILL, 2.0))
_PAUSE_S = 0.02
# More than the variables of a process may take, by default.
_ENVIRON_BYTES = 4 << 20


def marked(mark: str) -> set[int]:
    """The processes that have this mark in their variables, as they were started with them; a zombie has none. Empty on
    systems without /proc."""
    if not mark or not HAS_PROC:
        return set()
    word = f"{MARK}={mark}".encode()
    return {pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if word in _variables_of(pid)}  # noqa: PTH208


def marked_variables() -> Iterator[dict[str, str]]:
    """The variables of logbook that each process of a command has here; setups are left out."""
    if HAS_PROC:
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    else:
        import psutil

        pids = psutil.pids()
    for pid in pids:
        words = (os.fsdecode(word) for word in _variables_of(pid) if word.startswith(b"LOGBOOK_"))
        found = {name: value for name, _, value in (word.partition("=") for word in words)}
        if MARK in found and SETUP not in found:
            yield found


def _variables_of(pid: int) -> list[bytes]:
    """The variables of a process; none where it is another user's, or gone."""
    if not HAS_PROC:
        import psutil

        try:
            return [os.fsencode(f"{name}={value}") for name, value in psutil.Process(pid).environ().items()]
        except (psutil.Error, OSError):
            return []
    try:
        descriptor = os.open(f"/proc/{pid}/environ", os.O_RDONLY | os.O_CLOEXEC)  # several times as fast as `Path`
    except OSError:
        return []
    try:
        return os.read(descriptor, _ENVIRON_BYTES).split(b"\0")
    except OSError:
        return []
    finally:
        os.close(descriptor)


def group_of(pid: int) -> int | None:
    """The process group of a process; None where it is gone."""
    try:
        return os.getpgid(pid)
    except OSError:
        return None


def group_lives(group: int, mark: str) -> bool:
    """Whether a process of this group runs that has this mark in its variables: another command may have the number by
    now."""
    if HAS_PROC:
        return any(group_of(pid) == group for pid in marked(mark))
    try:
        os.killpg(group, 0)
    except OSError:
        return False
    return True


def end_command(group: int, mark: str, ladder: Sequence[tuple[int, float]] = LADDER) -> bool:
    """End the processes of a command that nobody watches any more; whether all have ended. `group` is its process
    group."""

    def lives() -> bool:
        return bool(marked(mark)) if HAS_PROC else group_lives(group, mark)

    for number, wait_s in ladder if group_lives(group, mark) else ():
        for pid in (-group, *marked(mark)):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
                # A stopped process gets its signal only when it goes on.
                os.kill(pid, signal.SIGCONT)
        deadline = time.monotonic() + wait_s
        while (is_alive := lives()) and time.monotonic() < deadline:
            time.sleep(_PAUSE_S)
        if not is_alive:
            return True
    return not group_lives(group, mark)


def is_in_use(folder: Path) -> bool:
    """Whether a process of this user works in a folder, or below it."""
    import psutil

    return any(p.info["cwd"] and Path(p.info["cwd"]).is_relative_to(folder) for p in psutil.process_iter(["cwd"]))


def own_peak_bytes() -> int:
    """The most memory this process has held resident, in bytes.

    Not ru_maxrss where it can be avoided: on Linux that starts with what the parent held before exec.
    """
    if HAS_PROC:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    import resource

    # Linux counts kibibytes, macOS bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def this_host() -> str:
    """The name of this machine."""
    return os.uname().nodename
