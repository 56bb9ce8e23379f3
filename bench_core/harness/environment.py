"""Devices, software versions and host of this process."""

import contextlib
import platform
import re
from collections import Counter
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import jax

from bench_core.device import host_cpu
from bench_core.errors import UsageError
from bench_core.harness.record import DeviceGroup, Environment

# JAX declares none of its options.
_config: Any = jax.config
# JAX removes what was not used for longest.
_KEPT_BYTES = 1 << 30


def describe_environment() -> Environment:
    """Facts of this process, for cases on JAX's first device; `count` also counts idle ones.

    Raises:
        UsageError: JAX finds no device of the platform that it was told to use.
    """
    devices = start_devices()
    first = (devices[0].platform, devices[0].device_kind)
    groups = Counter((device.platform, device.device_kind) for device in devices)
    cpu = host_cpu()
    return Environment(
        devices=tuple(
            DeviceGroup(platform=name, kind=kind, count=count, used=1 if (name, kind) == first else 0)
            for (name, kind), count in groups.items()
        ),
        software={
            "python": platform.python_version(),
            **{package: metadata.version(package) for package in ("jax", "jaxlib", "numpy")},
        },
        host=platform.node(),
        labels=({"host_cpu": cpu.model} if cpu.model else {}) | {"host_cpu_count": str(cpu.count)},
    )


def start_devices() -> list[jax.Device]:
    """JAX's devices, those of the platform that it uses first; to be called before anything else starts JAX.

    Raises:
        UsageError: JAX finds no device of the platform that it was told to use.
    """
    try:
        return jax.devices()
    except (RuntimeError, AssertionError) as error:
        # Of `cuda` without a GPU JAX says nothing: it only asserts that there is some device.
        said = " ".join(str(error).split()) or f"JAX finds no device of the platform {_config.jax_platforms}"
        raise UsageError(
            "JAX cannot start a backend",
            cause=said,
            hint="unset JAX_PLATFORMS, or install what that platform needs, such as logbook-agent[tpu]",
        ) from error


def make_cpu_devices(count: int, environ: Mapping[str, str]) -> None:
    """Let the CPU be so many devices, where it is what JAX runs on. To be called before JAX starts: afterwards, and
    where XLA_FLAGS says how many, they stay as they are."""
    if "xla_force_host_platform_device_count" in environ.get("XLA_FLAGS", ""):
        return
    with contextlib.suppress(RuntimeError):
        _config.update("jax_num_cpu_devices", count)


def keep_programs(environ: Mapping[str, str]) -> None:
    """Let JAX keep what it compiles in the user's cache folder, where the next process loads it from. To be called
    before JAX compiles anything.

    Where JAX_COMPILATION_CACHE_DIR names a folder, that and JAX's own rules hold; JAX_ENABLE_COMPILATION_CACHE=false
    keeps nothing. Processors of different models have folders of their own: a home may be shared by machines.
    """
    if _config.jax_compilation_cache_dir is not None:
        return
    cache = Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    processor = re.sub(r"\W+", "-", f"{platform.machine()} {host_cpu().model or ''}").strip("-")
    folder = cache / "bench-core" / processor
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return  # nothing is kept where nothing can be written
    for name, value in (
        ("jax_compilation_cache_dir", str(folder)),
        ("jax_compilation_cache_max_size", _KEPT_BYTES),
        ("jax_persistent_cache_min_compile_time_secs", 0.0),
        ("jax_persistent_cache_min_entry_size_bytes", -1),
    ):
        _config.update(name, value)


def device_peak_bytes(devices: int = 1) -> int | None:
    """Peak bytes in use on the fullest of the first devices since the process began; None where the platform has no
    count."""
    found = [(device.memory_stats() or {}).get("peak_bytes_in_use") for device in jax.devices()[:devices]]
    return max((int(peak) for peak in found if peak is not None), default=None)
