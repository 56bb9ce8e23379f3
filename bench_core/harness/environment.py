"""Devices, software versions and host of this process."""

import contextlib
import platform
from collections import Counter
from collections.abc import Callable, Mapping
from importlib import metadata
from typing import Any

import jax

from bench_core.device import host_cpu
from bench_core.errors import UsageError
from bench_core.harness.record import DeviceGroup, Environment

# JAX leaves these without types.
_config: Any = jax.config
_update: Callable[[str, Any], None] = jax.config.update


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
        _update("jax_num_cpu_devices", count)


def device_peak_bytes(devices: int = 1) -> int | None:
    """Peak bytes in use on the fullest of the first devices since the process began; None where the platform has no
    count."""
    found = [(device.memory_stats() or {}).get("peak_bytes_in_use") for device in jax.devices()[:devices]]
    return max((int(peak) for peak in found if peak is not None), default=None)
