from __future__ import annotations

import os
from pathlib import Path

import pytest

from logbook_agent.model.worker_report import Contention, Device
from logbook_agent.running.provenance.machine import other_users, visible_devices


def write(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "proc/cpuinfo", "processor\t: 0\nmodel name\t: Some  CPU @ 2GHz\n\nmodel name\t: Other\n")
    return tmp_path


def add_gpu(root: Path, minor: int, model: str = "NVIDIA H200", *, node: bool = True) -> None:
    text = f"Model: \t\t {model}\nGPU UUID: \t GPU-{minor}{minor}-abc\nDevice Minor: \t {minor}\n"
    write(root / f"proc/driver/nvidia/gpus/0000:0{minor}:00.0/information", text)
    if node:
        write(root / f"dev/nvidia{minor}")


@pytest.mark.parametrize(
    ("visible", "count"),
    [
        (None, 3),
        ("0", 1),
        ("2,0", 2),
        ("0,9,1", 1),
        ("GPU-11", 1),
        ("1,1", 1),
        ("-1", 0),
        ("", 0),
        ("none", 0),
    ],
)
def test_gpus_are_counted_as_cuda_would(root: Path, visible: str | None, count: int) -> None:
    for minor in range(3):
        add_gpu(root, minor)
    add_gpu(root, 3, node=False)
    found = visible_devices({} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}, root)
    if count:
        assert found == (Device(platform="gpu", kind="NVIDIA H200", count=count),)
    else:
        assert [d.platform for d in found] == ["cpu"]


def test_nvidia_smi_where_the_driver_lists_nothing(root: Path) -> None:
    write(root / "bin/nvidia-smi", "#!/bin/sh\necho 'GPU-1, NVIDIA H200'; echo 'GPU-2, NVIDIA H200'\n")
    (root / "bin/nvidia-smi").chmod(0o755)
    found = visible_devices({"PATH": str(root / "bin")}, root)
    assert found == (Device(platform="gpu", kind="NVIDIA H200", count=2),)
    write(root / "bin/nvidia-smi", "#!/bin/sh\nexit 9\n")
    assert visible_devices({"PATH": str(root / "bin")}, root)[0].platform == "cpu"


def test_tpu_chips(root: Path) -> None:
    for i in range(4):
        write(root / f"dev/vfio/{i}")
    write(root / "dev/vfio/vfio")
    assert visible_devices({}, root)[0].platform == "cpu"
    env = {"TPU_ACCELERATOR_TYPE": "v5p-8"}
    assert visible_devices(env, root) == (Device(platform="tpu", kind="v5p-8", count=4),)
    write(root / "sys/bus/pci/devices/0000:00:04.0/vendor", "0x1ae0\n")
    assert visible_devices({}, root) == (Device(platform="tpu", count=4),)
    assert visible_devices({"TPU_VISIBLE_CHIPS": "0"}, root) == (Device(platform="tpu", count=1),)
    assert visible_devices({"JAX_PLATFORMS": "cpu"}, root)[0].platform == "cpu"
    write(root / "dev/accel0")
    assert visible_devices({}, root) == (Device(platform="tpu", count=1),)


def _machine(root: Path, *, loadavg: str, devices: tuple[str, ...] = (), held: dict[int, str] | None = None) -> None:
    (root / "proc").mkdir()
    (root / "proc/loadavg").write_text(loadavg)
    for device in devices:
        (root / device).parent.mkdir(parents=True, exist_ok=True)
        (root / device).touch()
    for pid, target in (held or {}).items():
        (root / f"proc/{pid}/fd").mkdir(parents=True)
        (root / f"proc/{pid}/comm").write_text("trainer\n")
        (root / f"proc/{pid}/fd/3").symlink_to(target)


def test_others_who_use_the_machine(tmp_path: Path) -> None:
    held = {41: "/dev/nvidia0", 42: "/dev/null", 43: "/dev/nvidia0", 44: "/dev/nvidia0 (deleted)"}
    _machine(tmp_path, loadavg="1.50 0.70 0.30 4/512 999\n", devices=("dev/nvidia0",), held=held)
    assert other_users(tmp_path, own=43) == Contention(
        cores=os.cpu_count(), runnable=3, load_1m=1.5, accelerator=("pid 41 (trainer)",)
    )
