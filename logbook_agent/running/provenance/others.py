"""Who else uses this machine just before a run starts: a quick look, which never blocks. Linux only."""

from __future__ import annotations

import os
import re
from pathlib import Path

from logbook_agent.model.run import Contention
from logbook_agent.running.provenance.folders import names_in

_ACCELERATOR = re.compile(r"/dev/(nvidia\d+|accel\d+|vfio/\d+)")


def other_users(root: Path = Path("/"), *, own: int | None = None) -> Contention | None:
    """Threads of others that want a processor now, the load of the last minute, and the processes that hold an
    accelerator open, as far as this user may see them. None where the system does not tell.

    `root` is the file system's root, `own` this process.
    """
    try:
        load_1m, _, _, threads = (root / "proc/loadavg").read_text().split()[:4]
        # This thread is one of those that run.
        runnable = max(0, int(threads.partition("/")[0]) - 1)
        load = float(load_1m)
    except (OSError, ValueError):
        return None
    own = os.getpid() if own is None else own
    return Contention(runnable=runnable, load_1m=load, accelerator=tuple(_holders(root, own)))


def _holders(root: Path, own: int) -> list[str]:
    """`pid 4312 (python)` for each process with an accelerator's device file open. Looked for only where there
    is such a file: it takes a look at all open files."""
    if not _device_files(root):
        return []
    found = []
    for pid in sorted(int(name) for name in names_in(root / "proc") if name.isdigit()):
        if pid != own and _holds(root / "proc" / str(pid) / "fd"):
            found.append(f"pid {pid} ({_name(root, pid)})")
    return found


def _device_files(root: Path) -> bool:
    names = [f"/dev/{name}" for name in names_in(root / "dev")]
    names += [f"/dev/vfio/{name}" for name in names_in(root / "dev/vfio")]
    return any(_ACCELERATOR.fullmatch(name) for name in names)


def _holds(folder: Path) -> bool:
    for name in names_in(folder):
        try:
            # A device file that was deleted is none any more.
            if _ACCELERATOR.fullmatch(os.readlink(folder / name)):  # noqa: PTH115  a Path costs more than the look
                return True
        except OSError:
            continue
    return False


def _name(root: Path, pid: int) -> str:
    try:
        return (root / f"proc/{pid}/comm").read_text(errors="replace").strip() or "?"
    except OSError:
        return "?"
