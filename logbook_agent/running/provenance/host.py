"""The machine that a run ran on. A fact that cannot be found out is None."""

from __future__ import annotations

import os
from pathlib import Path

from logbook_agent.model.run import Host
from logbook_agent.running.programs import output_of

# The first processor's lines are enough, and the whole file takes long to make on a large machine.
_CPUINFO_BYTES = 4096
_SYSCTL = "/usr/sbin/sysctl"
_SYSCTL_TIMEOUT_S = 2.0
_MODEL_KEYS = ("model name", "cpu model", "Model", "Hardware")


def host_facts(root: Path = Path("/")) -> Host:
    """Name, system, CPU, cores that this process may use, and memory in bytes. `root`: the file system's."""
    system = os.uname()
    return Host(
        name=system.nodename or None,
        os=f"{system.sysname} {system.release} {system.machine}",
        cpu=cpu_model(root),
        cores=_cores(),
        memory_bytes=_memory_bytes(),
    )


def cpu_model(root: Path = Path("/")) -> str | None:
    """The processor's name from /proc/cpuinfo, on macOS from sysctl; None when neither gives one."""
    try:
        with (root / "proc/cpuinfo").open("rb", buffering=0) as file:
            text = file.read(_CPUINFO_BYTES).decode("utf-8", "replace")
    except OSError:
        return _sysctl_cpu() if os.uname().sysname == "Darwin" else None
    facts: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon and value.strip():
            facts.setdefault(key.strip(), " ".join(value.split()))
    return next((facts[k] for k in _MODEL_KEYS if k in facts), None)


def _sysctl_cpu() -> str | None:
    out = output_of([_SYSCTL, "-n", "machdep.cpu.brand_string"], os.environ, timeout_s=_SYSCTL_TIMEOUT_S)
    return (out or b"").decode("utf-8", "replace").strip() or None


def _cores() -> int | None:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count()


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return None
