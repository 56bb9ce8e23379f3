"""Facts about the host, found without JAX."""

import importlib.util
import os
import platform
from collections.abc import MutableMapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCpu:
    """`model` is None when the system does not name it; `count` is the processors this process may use; `bfloat16`:
    whether the system says that they have instructions that multiply it."""

    model: str | None
    count: int
    bfloat16: bool


_BFLOAT16 = {"avx512_bf16", "amx_bf16", "bf16"}
"""Linux's names of the features, on x86 (two) and Arm."""


def host_cpu(cpuinfo: Path = Path("/proc/cpuinfo")) -> HostCpu:
    """Describe the processor of this host. `cpuinfo` is Linux's table; elsewhere `platform` is asked."""
    first = _first_lines(cpuinfo)
    features = {word for key in ("flags", "Features") for word in first.get(key, "").split()}
    return HostCpu(
        model=first.get("model name") or platform.processor() or None,
        count=_usable_count(),
        bfloat16=bool(features & _BFLOAT16),
    )


def _first_lines(cpuinfo: Path) -> dict[str, str]:
    """What the table says of its first processor."""
    found: dict[str, str] = {}
    for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines() if cpuinfo.exists() else ():
        key, _, text = line.partition(":")
        found.setdefault(key.strip(), text.strip())
    return found


def _usable_count() -> int:
    # A container or `taskset` often grants fewer processors than the machine has.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def keep_absent_tpus_quiet(environ: MutableMapping[str, str], dev: Path = Path("/dev")) -> None:
    """Name the CPU as JAX's platform where that is all there can be, although libtpu is installed.

    JAX would else load libtpu to look for a TPU, which takes half a second and complains on stderr. `dev` is
    Linux's folder of devices: a TPU is an accel device there, or one behind vfio. Where JAX has another plug-in,
    or the user has chosen a platform, nothing is changed.
    """
    if "JAX_PLATFORMS" in environ or importlib.util.find_spec("libtpu") is None:
        return
    attached = any(dev.glob("accel*")) or any(dev.glob("vfio/[0-9]*"))
    if not attached and not metadata.entry_points(group="jax_plugins"):
        environ["JAX_PLATFORMS"] = "cpu"
