"""Facts about the host's processor, found without JAX."""

import os
import platform
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCpu:
    """`model` is None when the system does not name it; `count` is the processors this process may use."""

    model: str | None
    count: int


def host_cpu(cpuinfo: Path = Path("/proc/cpuinfo")) -> HostCpu:
    """Describe the processor of this host. `cpuinfo` is Linux's table; elsewhere `platform` is asked."""
    return HostCpu(model=_model(cpuinfo), count=_usable_count())


def _model(cpuinfo: Path) -> str | None:
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, text = line.partition(":")
            if key.strip() == "model name":
                return text.strip() or None
    return platform.processor() or None


def _usable_count() -> int:
    # A container or `taskset` often grants fewer processors than the machine has.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
