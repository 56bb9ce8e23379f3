"""Accelerators that a process started here would see, found without importing any framework.

A command that knows better says so in RESULT_JSON; these are the facts for one that does not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from logbook_agent.model.run import Device
from logbook_agent.running.programs import find_program, output_of
from logbook_agent.running.provenance.folders import names_in
from logbook_agent.running.provenance.host import cpu_model

_SMI_TIMEOUT_S = 5.0
_GOOGLE = "0x1ae0"


# Two GPUs of one kind are two, also where neither tells its UUID.
@dataclass(frozen=True, slots=True, eq=False)
class _Gpu:
    kind: str
    uuid: str


def visible_devices(
    environ: Mapping[str, str], root: Path = Path("/"), *, cpu: str | None = None
) -> tuple[Device, ...]:
    """GPUs and TPU chips, one Device for each kind; the CPU where there are none. `used` stays unknown.

    `root` is the file system's root; `cpu` the processor's name, when the caller has it already.
    """
    found = [*_nvidia(environ, root), *_tpu(environ, root)]
    return tuple(found) or (Device(platform="cpu", kind=cpu or cpu_model(root), count=1),)


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
    """Where the driver shows no /proc (WSL): nvidia-smi, when PATH has it."""
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
    kind = environ.get("TPU_ACCELERATOR_TYPE") or None
    chips = _matching(root / "dev", r"accel\d+")
    if not chips and (kind is not None or _has_google_chip(root)):
        # Newer hosts hand the chips out through vfio, which other devices use as well.
        chips = _matching(root / "dev/vfio", r"\d+")
    return [Device(platform="tpu", kind=kind, count=len(chips))] if chips else []


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
