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
class Bandwidths:
    """Published rates of one TPU chip, in 1e9 bytes per second: `hbm` is read and written together, `link` is one link
    in one direction."""

    hbm: float
    link: float
    link_source: str = "https://jax-ml.github.io/scaling-book/hardware/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """One chip. Peaks are dense (without sparsity), in 1e12 operations per second and per chip; what its maker
    does not publish has no key.

    `devices` is how many JAX devices one chip is (TPU7x: two, with half of everything each). `hbm_bytes`,
    `vmem_bytes` and `bandwidths` are None where no case needs them; `vmem_bytes` is per TensorCore.
    """

    peak_tflops: Mapping[Arithmetic, float]
    source: str
    devices: int = 1
    hbm_bytes: int | None = None
    vmem_bytes: int | None = None
    bandwidths: Bandwidths | None = None

    @property
    def hbm_bytes_per_device(self) -> int | None:
        return None if self.hbm_bytes is None else self.hbm_bytes // self.devices


_GIB, _MIB = 2**30, 2**20


def _tpu(
    *,
    bf16: float,
    hbm: int,
    vmem: int,
    hbm_gbps: float,
    link_gbps: float,
    page: str,
    int8: float | None = None,
    devices: int = 1,
) -> Chip:
    """A TPU: TF/s, GiB, MiB, GB/s. No float32 peak is published. VMEM is from JAX's own table of TPUs,
    jax/_src/pallas/mosaic/tpu_info.py of jax 0.10.2."""
    peaks = {Arithmetic.BFLOAT16: bf16} | ({} if int8 is None else {Arithmetic.INT8: int8})
    return Chip(
        peak_tflops=MappingProxyType(peaks),
        source=f"https://cloud.google.com/tpu/docs/{page}",
        devices=devices,
        hbm_bytes=hbm * _GIB,
        vmem_bytes=vmem * _MIB,
        bandwidths=Bandwidths(hbm=hbm_gbps, link=link_gbps),
    )


def _gpu(*, bf16: float, tf32: float, fp32: float, int8: float, source: str) -> Chip:
    """A GPU. Where a data sheet states tensor cores with sparsity, this is half of its figure."""
    return Chip(
        peak_tflops=MappingProxyType(
            {
                Arithmetic.BFLOAT16: bf16,
                Arithmetic.TF32: tf32,
                Arithmetic.FLOAT32: fp32,
                Arithmetic.INT8: int8,
            }
        ),
        source=source,
    )


_V5E = _tpu(bf16=197, int8=393, hbm=16, vmem=128, hbm_gbps=819, link_gbps=45, page="v5e")
# JAX's own table has 2460 GB/s.
_V5P = _tpu(bf16=459, int8=918, hbm=95, vmem=64, hbm_gbps=2765, link_gbps=90, page="v5p")
_V6E = _tpu(bf16=918, int8=1836, hbm=32, vmem=128, hbm_gbps=1638, link_gbps=90, page="v6e")
_A100_SHEET = "https://www.nvidia.com/en-us/data-center/a100/"
_HOPPER_PAPER = "https://resources.nvidia.com/en-us-tensor-core/gtc22-whitepaper-hopper"
_A100 = _gpu(bf16=312, tf32=156, fp32=19.5, int8=624, source=_A100_SHEET)

CHIPS: Mapping[str, Chip] = MappingProxyType(
    {
        "TPU v4": _tpu(bf16=275, int8=275, hbm=32, vmem=16, hbm_gbps=1200, link_gbps=45, page="v4"),
        "TPU v5 lite": _V5E,
        "TPU v5e": _V5E,
        "TPU v5": _V5P,
        "TPU v5p": _V5P,
        "TPU v6 lite": _V6E,
        "TPU v6e": _V6E,
        "TPU7x": _tpu(bf16=2307, hbm=192, vmem=64, hbm_gbps=7380, link_gbps=90, page="tpu7x", devices=2),
        "NVIDIA A100-SXM4-40GB": _A100,
        "NVIDIA A100-SXM4-80GB": _A100,
        "NVIDIA A100-PCIE-40GB": _A100,
        "NVIDIA A100 80GB PCIe": _A100,
        "NVIDIA H100 80GB HBM3": _gpu(bf16=989.4, tf32=494.7, fp32=66.9, int8=1978.9, source=_HOPPER_PAPER),
        "NVIDIA H200": _gpu(
            bf16=989.5, tf32=494.5, fp32=67, int8=1979, source="https://www.nvidia.com/en-us/data-center/h200/"
        ),
    }
)
"""By `device_kind`, which JAX takes from the driver."""


def peak_flops(device_kind: str, arithmetic: Arithmetic) -> float | None:
    """Operations per second of one JAX device; None where nothing is published, or the device is unknown."""
    chip = CHIPS.get(device_kind)
    peak = None if chip is None else chip.peak_tflops.get(arithmetic)
    return None if chip is None or peak is None else peak * 1e12 / chip.devices
