"""The least time of a call on a device: what has to be computed, moved and sent, over the published peaks. No JAX.

A roofline is a bound: each of the three takes its time alone, at its peak, beside the others. What
has to be moved are arguments and results, each once: it does not depend on a schedule, a tile or the code of a block.
"""

from dataclasses import dataclass
from enum import StrEnum

from bench_core.accounting.chips import CHIPS, LINK_SOURCE, Arithmetic, Chip
from bench_core.accounting.work import ITEM_BYTES
from bench_core.shapes import BenchPass, DType, MoeShape


class Resource(StrEnum):
    """`mxu`: the multipliers. `hbm`: the memory of a device. `ici`: the links between chips."""

    MXU = "mxu"
    HBM = "hbm"
    ICI = "ici"


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """What one device can do in a second at the most: FLOPs or bytes. `words` say of what it is made, `source` who
    publishes it. None, and `unknown` says why."""

    per_s: float | None
    words: str = ""
    source: str = ""
    unknown: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """What a device has to do with one of its resources. `amount` is in FLOPs or bytes."""

    resource: Resource
    amount: float
    peak: Peak

    @property
    def time_s(self) -> float | None:
        """At the least."""
        return None if self.peak.per_s is None else self.amount / self.peak.per_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Chips that are linked. `links` is the most that one of them has to others: some device sends as much as the mean
    of all, over no more links than these."""

    name: str
    links: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a call has each device do at the least, with `arithmetic` (None where there are several). `ring_bytes` are
    those that its form has to send, None on one device."""

    arithmetic: Arithmetic | None
    flops: float
    hbm_bytes: float
    ring_bytes: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Roofline:
    """Of one device. One that has nobody to send to has no term of `ici`."""

    terms: tuple[Term, ...]

    @property
    def bound(self) -> Term | None:
        """The one that takes the most time; None where no time is known."""
        return max(self.known, key=lambda term: term.time_s or 0, default=None)

    @property
    def bound_s(self) -> float | None:
        """Seconds that no call is faster than."""
        return None if self.bound is None else self.bound.time_s

    @property
    def known(self) -> list[Term]:
        return [term for term in self.terms if term.time_s is not None]

    def observations(self) -> dict[str, float | None]:
        """The least time of each resource whose peak is known, and of all."""
        times: dict[str, float | None] = {f"roofline_{term.resource}_s": term.time_s for term in self.known}
        return times | ({} if self.bound is None else {"roofline_bound_s": self.bound_s})

    def labels(self) -> dict[str, str]:
        """The bound that holds, the peaks with their sources, and why a term is missing."""
        missing = {term.resource.value: term.peak.unknown for term in self.terms if term.peak.unknown}
        same = len(missing) == len(self.terms) and len(set(missing.values())) == 1
        unknown = [*missing.values()][:1] if same else [f"{name}: {why}" for name, why in missing.items()]
        labels = {
            "roofline_bound": "" if self.bound is None else self.bound.resource.value,
            "roofline_peaks": "; ".join(f"{term.resource}: {sourced(term.peak)}" for term in self.known),
            "roofline_unknown": "; ".join(unknown),
        }
        return {name: text for name, text in labels.items() if text}


def roofline(work: Work, device_kind: str, linked: Slice | None) -> Roofline:
    """Of a device of this kind, as JAX names it. `linked`: None where nobody knows how the chips are linked."""
    limits = peaks(device_kind, work.arithmetic, linked)
    amounts = {Resource.MXU: work.flops, Resource.HBM: work.hbm_bytes}
    amounts |= {} if work.ring_bytes is None else {Resource.ICI: work.ring_bytes}
    return Roofline(terms=tuple(Term(resource=one, amount=amount, peak=limits[one]) for one, amount in amounts.items()))


def sourced(peak: Peak) -> str:
    """What it is made of, and who publishes it."""
    return f"{peak.words} ({peak.source})"


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
    peak = chip.peak_tflops(arithmetic)
    if peak is None:
        return Peak(per_s=None, unknown=f"no peak of {arithmetic} is published")
    words = f"{_of_chip(peak, chip)} TF/s {arithmetic}"
    return Peak(per_s=peak * 1e12 / chip.devices, words=words, source=chip.source)


def _hbm(chip: Chip) -> Peak:
    if chip.hbm_gbps is None:
        return Peak(per_s=None, unknown="no bandwidth of its memory is in the table")
    words = f"{_of_chip(chip.hbm_gbps, chip)} GB/s"
    return Peak(per_s=chip.hbm_gbps * 1e9 / chip.devices, words=words, source=chip.source)


def _ici(chip: Chip, linked: Slice | None) -> Peak:
    if chip.link_gbps is None:
        return Peak(per_s=None, unknown="no bandwidth of its links is in the table")
    if linked is None:
        return Peak(per_s=None, unknown="nobody knows how these chips are linked")
    if chip.devices > 1:
        return Peak(per_s=None, unknown="the devices of a chip share its links, and reach each other without them")
    return Peak(
        per_s=linked.links * chip.link_gbps * 1e9,
        words=f"{linked.links} links x {chip.link_gbps:g} GB/s one way, the most of a chip of {linked.name}",
        source=LINK_SOURCE,
    )


def _of_chip(peak: float, chip: Chip) -> str:
    return f"{peak:g}" if chip.devices == 1 else f"{peak:g} / {chip.devices}"


def least_bytes(
    shape: MoeShape, dtype: DType, bench_pass: BenchPass, *, read: int, stored: int, read_tokens: float, tokens: float
) -> float:
    """Bytes in HBM that one device has to move in a call: arguments that are read and results, each once.

    forward reads the weights of experts that have rows, a shared expert's and the tokens that some expert computes, and
    writes a row for every token; a backward pass writes the gradients of the tokens and of all weights of the device.

    Args:
        shape: sizes of the block.
        dtype: of activations and weights.
        bench_pass: what one call computes.
        read: experts of the device that have rows.
        stored: experts of the device.
        read_tokens: its part of the tokens that have an expert.
        tokens: its part of all tokens.
    """
    expert, shared = 3 * shape.hidden * shape.mlp_dim, 3 * shape.hidden * shape.shared_expert_dim
    rows = tokens * shape.hidden
    elements = read * expert + shared + read_tokens * shape.hidden + rows
    if bench_pass is not BenchPass.FORWARD:
        elements += stored * expert + shared + rows
    return elements * ITEM_BYTES[dtype]
