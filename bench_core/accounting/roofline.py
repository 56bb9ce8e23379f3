"""The least time of a call on a device: what has to be computed, moved and sent, over the published peaks. No JAX.

A roofline is a bound, and no prediction: each of the three takes its time alone, at its peak, beside the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from bench_core.accounting.chips import CHIPS, Arithmetic, Chip
from bench_core.accounting.traffic import ByteTerms


class Resource(StrEnum):
    """`mxu`: the multipliers. `hbm`: the memory of a device. `ici`: the links between chips."""

    MXU = "mxu"
    HBM = "hbm"
    ICI = "ici"


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """What one device can do in a second at the most: FLOPs or bytes. `words` say of what it is made, `source` who
    publishes it, `other` what another source says, which is not used. None, and `unknown` says why."""

    per_s: float | None
    words: str = ""
    source: str = ""
    other: str = ""
    unknown: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """What a device has to do with one of its resources. `amount` is in FLOPs or bytes; None where it is not known."""

    resource: Resource
    amount: float | None
    peak: Peak

    @property
    def time_s(self) -> float | None:
        """At the least."""
        if self.amount is None or self.peak.per_s is None:
            return None
        return self.amount / self.peak.per_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Chips that are linked. `links` has every one of them to others, `most_links` a chip has in the middle of many."""

    name: str
    links: int
    most_links: int


def peaks(device_kind: str, arithmetic: Arithmetic | None, linked: Slice | None) -> dict[Resource, Peak]:
    """The peaks of a device, as JAX names it.

    Args:
        device_kind: JAX's name of it.
        arithmetic: of the matmuls; None where there are several.
        linked: None where nobody knows how the chips are linked.
    """
    chip = CHIPS.get(device_kind)
    if chip is None:
        nothing = Peak(per_s=None, unknown=f"nothing is published about {device_kind!r} here")
        return dict.fromkeys(Resource, nothing)
    return {Resource.MXU: _mxu(chip, arithmetic), Resource.HBM: _hbm(chip), Resource.ICI: _ici(chip, linked)}


def _mxu(chip: Chip, arithmetic: Arithmetic | None) -> Peak:
    if arithmetic is None:
        return Peak(per_s=None, unknown="int8_real multiplies in int8 forwards and in another type backwards")
    peak = chip.peak_tflops.get(arithmetic)
    if peak is None:
        return Peak(per_s=None, unknown=f"no peak of {arithmetic} is published")
    words = f"{_of_chip(peak, chip)} TF/s {arithmetic}"
    return Peak(per_s=peak * 1e12 / chip.devices, words=words, source=chip.source)


def _hbm(chip: Chip) -> Peak:
    rates = chip.bandwidths
    if rates is None:
        return Peak(per_s=None, unknown="no bandwidth of its memory is in the table")
    other = f"{rates.other_hbm:g} GB/s says {rates.other_hbm_source}" if rates.other_hbm else ""
    return Peak(
        per_s=rates.hbm * 1e9 / chip.devices,
        words=f"{_of_chip(rates.hbm, chip)} GB/s",
        source=chip.source,
        other=other,
    )


def _ici(chip: Chip, linked: Slice | None) -> Peak:
    rates = chip.bandwidths
    if rates is None:
        return Peak(per_s=None, unknown="no bandwidth of its links is in the table")
    if linked is None:
        return Peak(per_s=None, unknown="nobody knows how these chips are linked")
    if chip.devices > 1:
        return Peak(per_s=None, unknown="the devices of a chip share its links, and reach each other without them")
    other = ""
    if rates.ici is not None:
        each = rates.ici / linked.most_links / 2
        other = f"{each:g} GB/s makes {rates.ici:g} GB/s both ways of {linked.most_links} links, {chip.source}"
    return Peak(
        per_s=linked.links * rates.link * 1e9,
        words=f"{linked.links} links x {rates.link:g} GB/s one way, the fewest of a chip of {linked.name}",
        source=rates.link_source,
        other=other,
    )


def _of_chip(peak: float, chip: Chip) -> str:
    return f"{peak:g}" if chip.devices == 1 else f"{peak:g} / {chip.devices}"


def bound(terms: Sequence[Term]) -> Term | None:
    """The one that takes the most time; None where no time is known."""
    known = [term for term in terms if term.time_s is not None]
    return max(known, key=lambda term: term.time_s or 0, default=None)


def device_bytes(terms: ByteTerms, *, ep: int, devices: int) -> float:
    """The memory traffic of one of `devices` that share the work evenly, of which `ep` share the experts.

    Each reads its own experts' weights, a shared expert's whole ones, and its part of the rows.
    """
    routed = terms.routed_up_weights + terms.routed_down_weights
    shared = terms.shared_up_weights + terms.shared_down_weights + terms.router_weights
    rows = terms.total - routed - shared
    return routed / ep + shared + rows / devices
