"""The time of a call, from what it costs each device. Pure, no JAX.

estimate = matmul_factor x max(matmul FLOPs / peak, their bytes / HBM)
         + routed_factor x (padded FLOPs of grouped matmuls / peak + all other bytes / HBM)
         + sum over groups of devices of ring-equivalent bytes / (links x rate of a link)
         + bytes that a call moves before it begins / (links x rate of a link)

Operations run one after another; nothing overlaps. The two factors are fitted on three measured rows of one device.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from bench_core.accounting.chips import Arithmetic
from bench_core.aot.targets import AotTarget
from bench_core.predict.terms import Terms

MODEL = 2
"""Grows when the formula changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Of one JAX device of a slice: FLOPs and bytes per second. `link` is one link in one direction; None where the
    devices of a chip share its links."""

    flops: float
    hbm: float
    link: float | None
    hbm_bytes: int
    target: AotTarget

    def links(self, group: int) -> int:
        """The links by which a chip of such a group reaches the others of its group: 2 along a ring that the
        group fills, 1 along another one. Groups fill the sides of a slice in their order."""
        links, left = 0, group
        for side, ring in zip(self.target.sides, self.target.rings, strict=True):
            if min(side, left) > 1:
                links += 2 if ring and left >= side else 1
            left = -(-left // side)
        return max(1, links)

    def send_s(self, by_group: Mapping[int, float]) -> float:
        """Seconds that bytes take, by the devices that take part; 0 where nobody knows the rate of a link."""
        if self.link is None:
            return 0.0
        return sum(size / (self.links(group) * self.link) for group, size in by_group.items())

    def move_s(self, moved_before: int) -> float:
        """Seconds that bytes take which leave one chip over all its links."""
        return 0.0 if self.link is None else moved_before / (max(1, self.target.links) * self.link)


def slice_rates(target: AotTarget) -> Rates | None:
    """The rates of a target; None where a peak of its chip is not published."""
    chip = target.chip
    bf16 = chip.peak_tflops.get(Arithmetic.BFLOAT16)
    if bf16 is None or chip.bandwidths is None or chip.hbm_bytes_per_device is None:
        return None
    return Rates(
        flops=bf16 * 1e12 / chip.devices,
        hbm=chip.bandwidths.hbm * 1e9 / chip.devices,
        link=chip.bandwidths.link * 1e9 if chip.devices == 1 else None,
        hbm_bytes=chip.hbm_bytes_per_device,
        target=target,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Seconds:
    """The parts of an estimate before its factors, by name. `hidden` is the part of `send` that may run beside other
    work."""

    matmul: float
    grouped: float
    memory: float
    send: float
    move: float
    hidden: float

    @property
    def routed(self) -> float:
        return self.grouped + self.memory

    @property
    def unscaled(self) -> float:
        return self.send + self.move


def seconds(terms: Terms, rates: Rates, *, moved_before: int = 0) -> Seconds:
    """What the terms take at published rates. `moved_before`: bytes that leave one chip before a call begins."""
    return Seconds(
        matmul=max(terms.matmul_flops / rates.flops, terms.matmul_bytes / rates.hbm),
        grouped=terms.padded_flops / rates.flops,
        memory=(terms.kernel_bytes + terms.other_bytes + terms.moved_bytes) / rates.hbm,
        send=rates.send_s(terms.sent_bytes),
        move=rates.move_s(moved_before),
        hidden=rates.send_s(terms.hidden_bytes),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """How far estimates of so many published rows were off: the rank correlation with the measured times, the median of
    the relative errors, and how many rows lie inside of the range."""

    rows: int
    rank_correlation: float
    median_error: float
    inside: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The factors of the model, what they belong to, and how accurate they were, from `benchmarks/predict_seeds.py`.

    `libtpu` compiled the programs whose terms the factors were fitted with; which one ran them nobody knows. `low` and
    `high` are what an estimate of a published program is multiplied with for the ends of its range: nine in ten rows
    that the factors were not fitted on lie within. None of these took less than `shortest` seconds, and collectives are
    at most the share `most_sent` of their estimates. `published` and `command` are the errors of the programs as the
    logbooks describe them and as this version writes them, `without_move` the median error of the former without the
    term `move_arguments`.
    """

    name: str
    model: int
    libtpu: str
    device_kind: str
    matmul_factor: float
    routed_factor: float
    low: float
    high: float
    shortest: float
    most_sent: float
    published: Accuracy
    command: Accuracy
    without_move: float

    def estimate(self, parts: Seconds) -> float:
        """The seconds of a call."""
        return self.matmul_factor * parts.matmul + self.routed_factor * parts.routed + parts.unscaled

    def terms(self, parts: Seconds) -> dict[str, float]:
        """What the estimate adds up from, with the factors in it."""
        found = {
            "matmul": self.matmul_factor * parts.matmul,
            "grouped_matmul": self.routed_factor * parts.grouped,
            "memory": self.routed_factor * parts.memory,
            "send": parts.send,
        }
        return found | ({"move_arguments": parts.move} if parts.move else {})


def calibration() -> Calibration:
    """The factors that come with bench_core: those of the published logbooks."""
    text = resources.files("bench_core.predict").joinpath("seeds.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return Calibration(**found | {form: Accuracy(**found[form]) for form in ("published", "command")})
