"""Rates of the devices of a slice of TPUs, from what is published. Pure, no JAX."""

from dataclasses import dataclass

from bench_core.accounting.chips import Arithmetic
from bench_core.aot.targets import AotTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceRates:
    """Of one JAX device: FLOPs and bytes per second. `link` is one link in one direction; None where the devices of a
    chip share its links. `sides` are the chips of the slice in each direction, `rings` which of them are rings."""

    flops: float
    int8_flops: float | None
    hbm: float
    link: float | None
    hbm_bytes: int
    sides: tuple[int, ...]
    rings: tuple[bool, ...]

    @property
    def all_links(self) -> int:
        """The most links that a chip of the slice has to others; 1 at the least."""
        return max(1, sum(2 if side > 2 else side - 1 for side in self.sides))

    def links(self, group: int) -> int:
        """The links by which a chip of such a group reaches the others of its group: 2 along a ring that the
        group fills, 1 along another one. Groups fill the sides of a slice in their order."""
        links, left = 0, group
        for side, ring in zip(self.sides, self.rings, strict=True):
            if min(side, left) > 1:
                links += 2 if ring and left >= side else 1
            left = -(-left // side)
        return max(1, links)

    def send_s(self, size: float, links: int) -> float:
        """Seconds that so many bytes take over so many links; 0 where nobody knows the rate of one."""
        return 0.0 if self.link is None else size / (links * self.link)

    def constants(self) -> dict[str, float | None]:
        """What a calibration depends on."""
        return {"flops": self.flops, "hbm": self.hbm, "link": self.link}


def slice_rates(target: AotTarget) -> SliceRates | None:
    """The rates of a target; None where a peak of its chip is not published."""
    chip = target.chip
    bf16, int8 = (chip.peak_tflops.get(kind) for kind in (Arithmetic.BFLOAT16, Arithmetic.INT8))
    if bf16 is None or chip.bandwidths is None or chip.hbm_bytes_per_device is None:
        return None
    return SliceRates(
        flops=bf16 * 1e12 / chip.devices,
        int8_flops=None if int8 is None else int8 * 1e12 / chip.devices,
        hbm=chip.bandwidths.hbm * 1e9 / chip.devices,
        link=chip.bandwidths.link * 1e9 if chip.devices == 1 else None,
        hbm_bytes=chip.hbm_bytes_per_device,
        sides=target.sides,
        rings=target.rings,
    )
