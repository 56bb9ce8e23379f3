"""What the makers of accelerators publish about them, by JAX's name of the device. No JAX.

A device that is not in the table has no peak: never that of another one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class Arithmetic(StrEnum):
    """What the multipliers of a chip are fed with. `tf32` is float32 with a 10-bit mantissa, on NVIDIA only."""

    BFLOAT16 = "bfloat16"
    FLOAT32 = "float32"
    TF32 = "tf32"
    INT8 = "int8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """One chip. Peaks are dense (without sparsity), in 1e12 operations per second and per chip; what its maker does not
    publish, and what no case needs, is None.

    `devices` is how many JAX devices one chip is (TPU7x: two, with half of everything each). `hbm_gbps` is read and
    written together, `link_gbps` one link in one direction (`LINK_SOURCE`), both in 1e9 bytes per second; `vmem_mib` is
    per TensorCore, from JAX's own table of TPUs (jax/_src/pallas/mosaic/tpu_info.py of jax 0.10.2).
    """

    bf16: float
    int8: float | None = None
    tf32: float | None = None
    fp32: float | None = None
    source: str
    devices: int = 1
    hbm_gib: int | None = None
    vmem_mib: int | None = None
    hbm_gbps: float | None = None
    link_gbps: float | None = None

    def peak_tflops(self, arithmetic: Arithmetic) -> float | None:
        return {
            Arithmetic.BFLOAT16: self.bf16,
            Arithmetic.INT8: self.int8,
            Arithmetic.TF32: self.tf32,
            Arithmetic.FLOAT32: self.fp32,
        }[arithmetic]

    @property
    def hbm_bytes_per_device(self) -> int | None:
        return None if self.hbm_gib is None else self.hbm_gib * 2**30 // self.devices


LINK_SOURCE = "https://jax-ml.github.io/scaling-book/hardware/"
_CLOUD = "https://cloud.google.com/tpu/docs/"
_V5E = Chip(bf16=197, int8=393, hbm_gib=16, vmem_mib=128, hbm_gbps=819, link_gbps=45, source=f"{_CLOUD}v5e")
# JAX's own table has 2460 GB/s.
_V5P = Chip(bf16=459, int8=918, hbm_gib=95, vmem_mib=64, hbm_gbps=2765, link_gbps=90, source=f"{_CLOUD}v5p")
_V6E = Chip(bf16=918, int8=1836, hbm_gib=32, vmem_mib=128, hbm_gbps=1638, link_gbps=90, source=f"{_CLOUD}v6e")
# Where a data sheet states tensor cores with sparsity, this is half of its figure.
_NVIDIA = "https://www.nvidia.com/en-us/data-center/"
_HOPPER_PAPER = "https://resources.nvidia.com/en-us-tensor-core/gtc22-whitepaper-hopper"
_A100 = Chip(bf16=312, tf32=156, fp32=19.5, int8=624, source=f"{_NVIDIA}a100/")

CHIPS: Mapping[str, Chip] = MappingProxyType(
    {
        "TPU v4": Chip(bf16=275, int8=275, hbm_gib=32, vmem_mib=16, hbm_gbps=1200, link_gbps=45, source=f"{_CLOUD}v4"),
        "TPU v5 lite": _V5E,
        "TPU v5e": _V5E,
        "TPU v5": _V5P,
        "TPU v5p": _V5P,
        "TPU v6 lite": _V6E,
        "TPU v6e": _V6E,
        "TPU7x": Chip(
            bf16=2307, hbm_gib=192, vmem_mib=64, hbm_gbps=7380, link_gbps=90, source=f"{_CLOUD}tpu7x", devices=2
        ),
        "NVIDIA A100-SXM4-40GB": _A100,
        "NVIDIA A100-SXM4-80GB": _A100,
        "NVIDIA A100-PCIE-40GB": _A100,
        "NVIDIA A100 80GB PCIe": _A100,
        "NVIDIA H100 80GB HBM3": Chip(bf16=989.4, tf32=494.7, fp32=66.9, int8=1978.9, source=_HOPPER_PAPER),
        "NVIDIA H200": Chip(bf16=989.5, tf32=494.5, fp32=67, int8=1979, source=f"{_NVIDIA}h200/"),
    }
)
"""By `device_kind`, which JAX takes from the driver."""


def peak_flops(device_kind: str, arithmetic: Arithmetic) -> float | None:
    """Operations per second of one JAX device; None where nothing is published, or the device is unknown."""
    chip = CHIPS.get(device_kind)
    peak = None if chip is None else chip.peak_tflops(arithmetic)
    return None if chip is None or peak is None else peak * 1e12 / chip.devices
