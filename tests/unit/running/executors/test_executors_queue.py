"""Runs that need the same device are made one after another, whoever started them and whoever dies: real processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from logbook_agent.running.provenance.machine import devices_of


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, ("gpu0", "gpu1", "tpu0", "tpu1")),
        ({"CUDA_VISIBLE_DEVICES": "1"}, ("gpu1", "tpu0", "tpu1")),
        ({"CUDA_VISIBLE_DEVICES": "", "TPU_VISIBLE_CHIPS": "1"}, ("tpu1",)),
        ({"CUDA_VISIBLE_DEVICES": "GPU-bbbb", "TPU_VISIBLE_DEVICES": "0"}, ("gpu1", "tpu0")),
        ({"CUDA_VISIBLE_DEVICES": "-1", "TPU_VISIBLE_DEVICES": ""}, ()),
        ({"CUDA_VISIBLE_DEVICES": "MIG-1234"}, ("gpu0", "gpu1", "tpu0", "tpu1")),
        ({"CUDA_VISIBLE_DEVICES": "0,9,1", "TPU_VISIBLE_CHIPS": "1,0"}, ("gpu0", "tpu0", "tpu1")),
        ({"JAX_PLATFORMS": "cpu"}, ()),
        ({"JAX_PLATFORMS": "cuda,cpu"}, ("gpu0", "gpu1", "tpu0", "tpu1")),
    ],
)
def test_devices_of_a_machine(tmp_path: Path, environ: dict[str, str], expected: tuple[str, ...]) -> None:
    for number, uuid in enumerate(("GPU-aaaa", "GPU-bbbb")):
        file = tmp_path / f"proc/driver/nvidia/gpus/0000:0{number}:00.0/information"
        file.parent.mkdir(parents=True)
        file.write_text(f"Model: \t\t NVIDIA H100\nGPU UUID: \t {uuid}\n")
        (tmp_path / "dev").mkdir(exist_ok=True)
        (tmp_path / f"dev/accel{number}").touch()
    assert devices_of(environ, tmp_path) == expected


def test_devices_that_are_declared(tmp_path: Path) -> None:
    assert devices_of({}, tmp_path) == ()
    assert devices_of({}, tmp_path, ("a", "b")) == ("a", "b")
    assert devices_of({"TPU_VISIBLE_CHIPS": "1"}, tmp_path, ("a", "b")) == ("b",)
    assert devices_of({"CUDA_VISIBLE_DEVICES": "b,a"}, tmp_path, ("a", "b")) == ("a", "b")
    assert devices_of({"CUDA_VISIBLE_DEVICES": "7"}, tmp_path, ("a", "b")) == ("a", "b"), "one that is not known"
