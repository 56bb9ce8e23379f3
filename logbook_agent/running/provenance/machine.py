"""The machine that a run runs on: its host, its accelerators, and who else uses it. What cannot be found out is None.

Accelerators are those that a process started here would see, found without importing any framework: a command that
knows better says so in RESULT_JSON. Who else uses the machine is a quick look, which never blocks; macOS
tells the load alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from logbook_agent.model.run import Contention, Device, Host
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


# Two GPUs of one kind are two, also where neither tells its UUID.
@dataclass(frozen=True, slots=True, eq=False)
class _Gpu:
    kind: str
    uuid: str


def visible_devices(environ: Mapping[str, str], root: Path = Path("/")) -> tuple[Device, ...]:
    """GPUs and TPU chips, one Device for each kind; the CPU where there are none. `used` stays unknown.

    `root` is the file system's root.
    """
    found = [*_nvidia(environ, root), *_tpu(environ, root)]
    return tuple(found) or (Device(platform="cpu", kind=cpu_model(root), count=1),)


# Variables that choose devices by their numbers, or by their names.
_VISIBLE = {
    "gpu": ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"),
    "tpu": ("TPU_VISIBLE_DEVICES", "TPU_VISIBLE_CHIPS"),
}


def devices_of(environ: Mapping[str, str], root: Path = Path("/"), declared: Sequence[str] = ()) -> tuple[str, ...]:
    """What the accelerators are called that a process with this environment may use: `gpu0`, `tpu3`; of those that are
    `declared` the names, where there are any. None where it may use the processor alone."""
    platforms = {word.strip().lower() for word in environ.get("JAX_PLATFORMS", "").split(",") if word.strip()}
    if platforms == {"cpu"}:
        return ()
    if declared:
        every = [name for names in _VISIBLE.values() for name in names]
        return _chosen(declared, [""] * len(declared), [environ[name] for name in every if name in environ])
    gpus = _gpus_of_driver(root)
    gpus = _gpus_of_smi(environ) if gpus is None else gpus
    found: tuple[str, ...] = ()
    for kind, uuids in (("gpu", [gpu.uuid for gpu in gpus]), ("tpu", [""] * len(_tpu_chips(environ, root)))):
        names = [f"{kind}{number}" for number in range(len(uuids))]
        found += _chosen(names, uuids, [environ[name] for name in _VISIBLE[kind] if name in environ])
    return found


def _chosen(names: Sequence[str], uuids: Sequence[str], visible: Sequence[str]) -> tuple[str, ...]:
    """The names that the first of these values chooses; all where there is none, or it chooses by what is unknown."""
    if not visible:
        return tuple(names)
    words = [
        word.strip() for word in visible[0].split(",") if word.strip() and word.strip() not in ("-1", "NoDevFiles")
    ]
    chosen: set[str] = set()
    for word in words:
        if word.isascii() and word.isdigit():
            found = names[int(word) : int(word) + 1]
        else:
            found = [n for n, uuid in zip(names, uuids, strict=True) if word == n or (uuid and uuid.startswith(word))]
        if not found:
            return tuple(names)
        chosen.update(found)
    return tuple(name for name in names if name in chosen)


def _nvidia(environ: Mapping[str, str], root: Path) -> list[Device]:
    gpus = _gpus_of_driver(root)
    if gpus is None:
        gpus = _gpus_of_smi(environ)
    counts: dict[str, int] = {}
    for gpu in _selected(gpus, environ.get("CUDA_VISIBLE_DEVICES")):
        counts[gpu.kind] = counts.get(gpu.kind, 0) + 1
    return [Device(platform="gpu", kind=kind, count=count) for kind, count in counts.items()]


def _gpus_of_driver(root: Path) -> list[_Gpu] | None:
    """What the driver lists, without the GPUs whose device node this container does not have."""
    folder = root / "proc/driver/nvidia/gpus"
    if not folder.is_dir():
        return None
    gpus = []
    for name in names_in(folder):
        try:
            text = (folder / name / "information").read_text(errors="replace")
        except OSError:
            continue
        facts = {k.strip(): v.strip() for k, _, v in (line.partition(":") for line in text.splitlines())}
        minor = facts.get("Device Minor")
        if minor is None or (root / f"dev/nvidia{minor}").exists():
            gpus.append(_Gpu(facts.get("Model", "NVIDIA GPU"), facts.get("GPU UUID", "")))
    return gpus


def _gpus_of_smi(environ: Mapping[str, str]) -> list[_Gpu]:
    """What nvidia-smi lists, if PATH has it: some drivers show no /proc (WSL)."""
    tool = find_program("nvidia-smi", environ)
    if tool is None:
        return []
    out = output_of([tool, "--query-gpu=uuid,name", "--format=csv,noheader"], environ, timeout_s=_SMI_TIMEOUT_S)
    lines = (out or b"").decode("utf-8", "replace").splitlines()
    pairs = [line.partition(", ") for line in lines if ", " in line]
    return [_Gpu(name.strip(), uuid.strip()) for uuid, _, name in pairs]


def _selected(gpus: Sequence[_Gpu], visible: str | None) -> list[_Gpu]:
    """As CUDA reads CUDA_VISIBLE_DEVICES: indices or UUID prefixes, up to the first that is neither."""
    if visible is None:
        return list(gpus)
    chosen: list[_Gpu] = []
    for word in (w.strip() for w in visible.split(",")):
        if word.isascii() and word.isdigit():
            gpu = gpus[int(word)] if int(word) < len(gpus) else None
        else:
            gpu = next((g for g in gpus if word.startswith("GPU-") and g.uuid.startswith(word)), None)
        if word.startswith("MIG-") and gpus:
            gpu = _Gpu(f"{gpus[0].kind} MIG", word)
        if gpu is None or gpu in chosen:
            break
        chosen.append(gpu)
    return chosen


def _tpu(environ: Mapping[str, str], root: Path) -> list[Device]:
    chips = _tpu_chips(environ, root)
    kind = environ.get("TPU_ACCELERATOR_TYPE") or None
    return [Device(platform="tpu", kind=kind, count=len(chips))] if chips else []


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
