"""Start libtpu as a compiler, on a machine that need not have a TPU."""

import importlib.util
import os
from collections.abc import Callable, MutableMapping
from importlib import metadata
from pathlib import Path

import jax
from jax.experimental import topologies

from bench_core.aot.quiet import captured_output
from bench_core.aot.targets import AotTarget
from bench_core.errors import UsageError

# JAX leaves this function without types.
_update: Callable[[str, str], None] = jax.config.update

# libtpu takes a TPU host for granted and complains on stderr about each of these that is missing. None of them
# decides what is compiled: the topology is named. What the user has set stays.
_HOST = {
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_ACCELERATOR_TYPE": "v5p-8",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_WORKER_ID": "0",
    "TPU_MIN_LOG_LEVEL": "3",
    "TPU_STDERR_LOG_LEVEL": "3",
    "TPU_LOG_DIR": "disabled",
    # Without it libtpu locks /tmp/libtpu_lockfile, and a second process that compiles fails. No TPU is opened here.
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
}


def compile_devices(target: AotTarget, environ: MutableMapping[str, str] | None = None) -> tuple[jax.Device, ...]:
    """The devices of `target`, which programs can be compiled for, and not run on.

    JAX's own platform becomes the CPU: it draws the routing.

    Raises:
        UsageError: libtpu is not installed, or does not know the target.
    """
    if _packaged_library() is None and not os.environ.get("TPU_LIBRARY_PATH"):
        raise UsageError(
            "--aot needs libtpu, which is not installed",
            cause="the compiler for TPUs is a package of its own, for Linux on x86_64",
            hint="pip install 'logbook-agent[tpu]'",
        )
    for name, value in _HOST.items():
        (os.environ if environ is None else environ).setdefault(name, value)
    _update("jax_platforms", "cpu")
    try:
        with captured_output():
            topology = topologies.get_topology_desc(
                platform="tpu", topology_name=target.topology, chip_config_name=target.chip_config
            )
    except (RuntimeError, ValueError) as error:
        raise UsageError(
            f"libtpu {libtpu_version()} cannot compile for {target.name}",
            cause=" ".join(str(error).split()),
            hint="the libtpu that fits the installed jax comes with logbook-agent[tpu]",
        ) from error
    return tuple(topology.devices)


def libtpu_version() -> str:
    """That of the installed package, when its library is the one that JAX loads."""
    packaged, chosen = _packaged_library(), os.environ.get("TPU_LIBRARY_PATH")
    if packaged is None or (chosen and Path(chosen) != packaged):
        return "unknown, from TPU_LIBRARY_PATH"
    return metadata.version("libtpu")


def _packaged_library() -> Path | None:
    package = importlib.util.find_spec("libtpu")
    if package is None or package.origin is None:
        return None
    return Path(package.origin).with_name("libtpu.so")
