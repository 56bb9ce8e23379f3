"""A network of one machine: a namespace with nothing but the loopback interface, in which an engine may listen."""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000


def is_alone() -> bool:
    """Whether this process sees no other interface than `lo`."""
    lines = Path("/proc/self/net/dev").read_text().splitlines()[2:]
    return [line.split(":")[0].strip() for line in lines] == ["lo"]


def enter() -> None:
    """Move this process, and all that it starts from now on, into a new one; nothing where it is in one already.

    Raises OSError without the right to. Who is not root needs user namespaces, and must have one thread only.
    """
    if is_alone():
        return
    user, group = os.geteuid(), os.getegid()
    flags = _CLONE_NEWNET if user == 0 else _CLONE_NEWNET | _CLONE_NEWUSER
    library = ctypes.CDLL(None, use_errno=True)
    if library.unshare(flags):
        number = ctypes.get_errno()
        raise OSError(number, f"no network namespace: {os.strerror(number)}")
    if user != 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
