"""What the system tells of processes. On Linux /proc is read, at a hundredth of what importing psutil costs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HAS_PROC = sys.platform == "linux" and Path("/proc/stat").exists()
# The variable that marks a command and all that it starts, with the whole name of the run.
MARK = "LOGBOOK_MARK"
# More than the variables of a process may take, by default.
_ENVIRON_BYTES = 4 << 20


def stat_fields(pid: int) -> list[str] | None:
    """/proc/PID/stat from its third field (state) on; the name before may contain anything."""
    return of_process(pid, "stat").decode(errors="replace").rpartition(")")[2].split() or None


def of_process(pid: int, name: str, most_bytes: int = 4096) -> bytes:
    """A file of /proc/PID; empty where it is another user's, or the process is gone."""
    try:
        descriptor = os.open(f"/proc/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)  # several times as fast as `Path`
    except OSError:
        return b""
    try:
        return os.read(descriptor, most_bytes)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def is_in_use(folder: Path) -> bool:
    """Whether a process of this user works in a folder, or below it."""
    if HAS_PROC:
        return any(_works_in(process, folder) for process in Path("/proc").iterdir() if process.name.isdecimal())
    import psutil

    return any(p.info["cwd"] and Path(p.info["cwd"]).is_relative_to(folder) for p in psutil.process_iter(["cwd"]))


def _works_in(process: Path, folder: Path) -> bool:
    try:
        return (process / "cwd").readlink().is_relative_to(folder)
    except OSError:  # another user's, or gone
        return False


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


def variables_of(pid: int) -> list[bytes]:
    """The variables of a process, as it was started with them."""
    return of_process(pid, "environ", _ENVIRON_BYTES).split(b"\0")


def group_lives(group: int, mark: str) -> bool:
    """Whether a process of this group runs that has this mark in its variables: another command may have the number by
    now."""
    if not HAS_PROC:
        try:
            os.killpg(group, 0)
        except OSError:
            return False
        return True
    word = f"{MARK}={mark}".encode()
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):  # noqa: PTH208
        fields = stat_fields(pid)
        if fields is not None and fields[0] not in ("Z", "X") and fields[2] == str(group) and word in variables_of(pid):
            return True
    return False


def this_host() -> str:
    """The name of this machine."""
    return os.uname().nodename
