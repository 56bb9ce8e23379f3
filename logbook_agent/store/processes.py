"""The processes of this machine, by the marks of their commands.

On Linux /proc is read, at a hundredth of what importing psutil costs.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

HAS_PROC = sys.platform == "linux" and Path("/proc/stat").exists()
# The variable that marks a command and all that it starts, with the whole name of the run.
MARK = "LOGBOOK_MARK"
# More than the variables of a process may take, by default.
_ENVIRON_BYTES = 4 << 20


def marked(mark: str) -> set[int]:
    """The processes that have this mark in their variables, as they were started with them; a zombie has none. Empty on
    systems without /proc."""
    if not mark or not HAS_PROC:
        return set()
    word = f"{MARK}={mark}".encode()
    return {pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if word in _variables_of(pid)}  # noqa: PTH208


def _variables_of(pid: int) -> list[bytes]:
    """The variables of a process; none where it is another user's, or gone."""
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
