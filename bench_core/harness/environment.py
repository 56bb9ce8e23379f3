"""Devices, software versions and host of this process."""

import platform
from collections import Counter
from importlib import metadata

import jax

from bench_core.device import host_cpu
from bench_core.errors import UsageError
from bench_core.harness.record import DeviceGroup, Environment


def describe_environment() -> Environment:
    """Facts of this process. Cases run on JAX's first device; `count` also counts idle ones.

    Raises:
        UsageError: JAX finds no device of the platform that it was told to use.
    """
    try:
        devices = jax.devices()
    except RuntimeError as error:
        raise UsageError(
            "JAX cannot start a backend",
            cause=" ".join(str(error).split()),
            hint="unset JAX_PLATFORMS, or install what that platform needs, such as logbook-agent[tpu]",
        ) from error
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


def device_peak_bytes() -> int | None:
    """Peak bytes in use on the first device since the process began; None where the platform has no count."""
    statistics = jax.devices()[0].memory_stats()
    if not statistics:
        return None
    peak = statistics.get("peak_bytes_in_use")
    return None if peak is None else int(peak)
