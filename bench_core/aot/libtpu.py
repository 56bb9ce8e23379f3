"""Start libtpu as a compiler, on a machine that need not have a TPU, and keep what it writes out of sight."""

import contextlib
import faulthandler
import importlib.util
import os
import sys
import tempfile
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

import jax
from jax.experimental import topologies

from bench_core.aot.targets import AotTarget
from bench_core.errors import UsageError

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


def draw_on_cpu() -> None:
    """Let JAX draw routings on the CPU, whatever devices there are."""
    jax.config.update("jax_platforms", "cpu")


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
    draw_on_cpu()
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


@dataclass(slots=True, kw_only=True)
class Captured:
    """What was written meanwhile, as text; complete when the block has ended."""

    text: str = field(default="")


@contextlib.contextmanager
def captured_output() -> Iterator[Captured]:
    """Collect everything that this process and its children write to stdout and stderr.

    Both descriptors are those of the whole process: nothing else may write to them meanwhile.
    """
    captured = Captured()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    with tempfile.TemporaryFile() as store, contextlib.ExitStack() as stack:
        for descriptor in (1, 2):
            saved = os.dup(descriptor)
            stack.callback(os.close, saved)
            stack.callback(os.dup2, saved, descriptor)
            os.dup2(store.fileno(), descriptor)
        if not faulthandler.is_enabled():
            # A native library that aborts takes what it said with it; at least that it did is shown.
            faulthandler.enable(saved)
            stack.callback(faulthandler.disable)
        try:
            yield captured
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            stack.close()
            store.seek(0)
            captured.text = store.read().decode(errors="replace")
