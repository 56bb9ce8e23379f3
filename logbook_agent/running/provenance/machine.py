"""The machine that a run runs on: its host, its accelerators, and who else uses it. What cannot be found out is None.

Accelerators are those that a process started here would see, found without importing any framework: a command that
knows better says so in RESULT_JSON. Who else uses the machine is a quick look, which never blocks; macOS
tells the load alone.
"""

from __future__ import annotations

import collections
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from logbook_agent import __version__
from logbook_agent.model.worker_report import Contention, Device, Host
from logbook_agent.running.programs import find_program, output_of
from logbook_agent.running.provenance.contention import load_now

# The first processor's lines are enough, and the whole file takes long to make on a large machine.
_CPUINFO_BYTES = 4096
_SYSCTL = "/usr/sbin/sysctl"
_SYSCTL_TIMEOUT_S = 2.0
_MODEL_KEYS = ("model name", "cpu model", "Model", "Hardware")
_ACCELERATOR = re.compile(r"/dev/(nvidia\d+|accel\d+|vfio/\d+)")
_SMI_TIMEOUT_S = 5.0
_GOOGLE = "0x1ae0"


def names_in(folder: Path) -> list[str]:
    """The sorted names in a folder; none where it cannot be read. Cheaper than a Path for each of them."""
    try:
        with os.scandir(folder) as found:
            return sorted(entry.name for entry in found)
    except OSError:
        return []


class MachineFacts(Struct, frozen=True, kw_only=True):
    """What is known of the machine of an executor: `version` is that of this package there, `python` what its workers
    run in."""

    host: Host = field(default_factory=Host)
    python: str | None = None
    version: str | None = None
    devices: tuple[Device, ...] = ()


def machine_facts(environ: Mapping[str, str]) -> MachineFacts:
    """Which machine this is."""
    return MachineFacts(
        host=host_facts(),
        python=".".join(map(str, sys.version_info[:3])),
        version=__version__,
        devices=visible_devices(environ),
    )


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


def other_users(root: Path = Path("/"), *, own: int | None = None, host: Path | None = None) -> Contention | None:
    """Threads of others that want a processor now, the load of the last minute, and the processes that hold an
    accelerator open, as far as this user may see them. None where the system does not tell.

    `root` is the file system's root, `host` that which tells of the load, `own` this process.
    """
    runnable, load_1m = load_now(root if host is None else host)
    if load_1m is None:
        return None
    own = os.getpid() if own is None else own
    return Contention(cores=os.cpu_count(), runnable=runnable, load_1m=load_1m, accelerator=tuple(_holders(root, own)))


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


class Accelerator(Struct, frozen=True, kw_only=True):
    """A GPU, a part of one (without a name: which one, its driver alone knows), or a TPU chip."""

    name: str
    platform: str
    kind: str | None = None
    uuid: str = ""


# Variables that choose devices by their numbers, or by their names; the first that is set counts.
_VISIBLE = {
    "gpu": ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"),
    "tpu": ("TPU_VISIBLE_CHIPS", "TPU_VISIBLE_DEVICES"),
}
_VARIABLES = tuple(name for names in _VISIBLE.values() for name in names)


def accelerators(environ: Mapping[str, str], root: Path = Path("/")) -> list[Accelerator]:
    """The accelerators that a process with this environment sees. `root` is the file system's root."""
    platforms = {word.strip().lower() for word in environ.get("JAX_PLATFORMS", "").split(",") if word.strip()}
    if platforms == {"cpu"}:
        return []
    gpus = _gpus_of_driver(root)
    gpus = _gpus_of_smi(environ) if gpus is None else gpus
    kind = environ.get("TPU_ACCELERATOR_TYPE") or None
    chips = [Accelerator(name=f"tpu{n}", platform="tpu", kind=kind) for n in range(len(_tpu_chips(environ, root)))]
    return _chosen(gpus, environ, _VISIBLE["gpu"]) + _chosen(chips, environ, _VISIBLE["tpu"])


def _chosen(found: Sequence[Accelerator], environ: Mapping[str, str], variables: Sequence[str]) -> list[Accelerator]:
    """As CUDA reads CUDA_VISIBLE_DEVICES: numbers, names or beginnings of a UUID, up to the first that is neither."""
    visible = next((environ[name] for name in variables if name in environ), None)
    if visible is None:
        return list(found)
    chosen: list[Accelerator] = []
    for word in (word.strip() for word in visible.split(",")):
        if word.isascii() and word.isdigit():
            device = found[int(word)] if int(word) < len(found) else None
        elif word.startswith("MIG-") and found:
            device = Accelerator(name="", platform=found[0].platform, kind=f"{found[0].kind} MIG", uuid=word)
        else:
            device = next((d for d in found if word and (d.name == word or d.uuid.startswith(word))), None)
        if device is None or device in chosen:
            break
        chosen.append(device)
    return chosen


def visible_devices(environ: Mapping[str, str], root: Path = Path("/")) -> tuple[Device, ...]:
    """GPUs and TPU chips, one Device for each kind; the CPU where there are none. `used` stays unknown."""
    counts = collections.Counter((device.platform, device.kind) for device in accelerators(environ, root))
    found = tuple(Device(platform=platform, kind=kind, count=count) for (platform, kind), count in counts.items())
    return found or (Device(platform="cpu", kind=cpu_model(root), count=1),)


def devices_of(environ: Mapping[str, str], root: Path = Path("/"), declared: Sequence[str] = ()) -> tuple[str, ...]:
    """What the accelerators are called that a process with this environment may use: `gpu0`, `tpu3`; of those that are
    `declared` the names, where there are any. Empty where it may use the processor alone."""
    if declared:
        found = [Accelerator(name=name, platform="") for name in declared]
        chosen = {device.name for device in _chosen(found, environ, _VARIABLES)}
        is_unknown = not chosen and any(environ.get(name, "").strip(" ,-1") for name in _VARIABLES)
        return tuple(name for name in declared if name in chosen or is_unknown)
    names = [device.name for device in accelerators(environ, root)]
    if "" in names:
        # A part of a GPU, of which another run may use all.
        every = accelerators({k: v for k, v in environ.items() if k not in _VISIBLE["gpu"]}, root)
        names = [device.name for device in every if device.platform == "gpu" or device.name in names]
    return tuple(sorted(names, key=lambda name: (name[:3], int(name[3:]))))


def _gpus_of_driver(root: Path) -> list[Accelerator] | None:
    """What the driver lists, without the GPUs whose device node this container does not have."""
    folder = root / "proc/driver/nvidia/gpus"
    if not folder.is_dir():
        return None
    pairs = []
    for name in names_in(folder):
        try:
            text = (folder / name / "information").read_text(errors="replace")
        except OSError:
            continue
        facts = {k.strip(): v.strip() for k, _, v in (line.partition(":") for line in text.splitlines())}
        minor = facts.get("Device Minor")
        if minor is None or (root / f"dev/nvidia{minor}").exists():
            pairs.append((facts.get("Model", "NVIDIA GPU"), facts.get("GPU UUID", "")))
    return _gpus(pairs)


def _gpus_of_smi(environ: Mapping[str, str]) -> list[Accelerator]:
    """What nvidia-smi lists, if PATH has it: some drivers show no /proc (WSL)."""
    tool = find_program("nvidia-smi", environ)
    if tool is None:
        return []
    out = output_of([tool, "--query-gpu=uuid,name", "--format=csv,noheader"], environ, timeout_s=_SMI_TIMEOUT_S)
    lines = (out or b"").decode("utf-8", "replace").splitlines()
    pairs = [line.partition(", ") for line in lines if ", " in line]
    return _gpus([(name.strip(), uuid.strip()) for uuid, _, name in pairs])


def _gpus(pairs: Sequence[tuple[str, str]]) -> list[Accelerator]:
    return [
        Accelerator(name=f"gpu{number}", platform="gpu", kind=kind, uuid=uuid)
        for number, (kind, uuid) in enumerate(pairs)
    ]


def _tpu_chips(environ: Mapping[str, str], root: Path) -> list[str]:
    chips = _matching(root / "dev", r"accel\d+")
    if not chips and (environ.get("TPU_ACCELERATOR_TYPE") or _has_google_chip(root)):
        # Newer hosts hand the chips out through vfio, which other devices use as well.
        chips = _matching(root / "dev/vfio", r"\d+")
    return chips


def _matching(folder: Path, pattern: str) -> list[str]:
    return [name for name in names_in(folder) if re.fullmatch(pattern, name)]


def _has_google_chip(root: Path) -> bool:
    if not (root / "dev/vfio").exists():
        return False
    for vendor in (root / "sys/bus/pci/devices").glob("*/vendor"):
        try:
            if vendor.read_text().strip() == _GOOGLE:
                return True
        except OSError:
            continue
    return False
