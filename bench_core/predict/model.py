"""The time of a call, from what it costs each device. Pure, no JAX.

estimate = matmul_factor x max(matmul FLOPs / peak, their bytes / HBM)
         + routed_factor x (padded FLOPs of grouped matmuls / peak + all other bytes / HBM)
         + sum over groups of devices of ring-equivalent bytes / (links x rate of a link)
         + bytes that a call moves before it begins / (links x rate of a link)

Operations run one after another; nothing overlaps. The two factors are fitted on measured rows of one device. The bound
is plain arithmetic, with everything overlapped: no call can be faster than its FLOPs at the peak, its bytes at HBM's
rate and what it sends over all links of a chip.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from bench_core.predict.slice import SliceRates
from bench_core.predict.terms import Terms

MODEL = 1
"""Grows when the formula changes: a calibration belongs to one."""


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


def seconds(terms: Terms, rates: SliceRates, *, moved_before: int = 0) -> Seconds:
    """What the terms take at published rates. `moved_before`: bytes that leave one chip before a call begins."""
    return Seconds(
        matmul=max(terms.matmul_flops / rates.flops, terms.matmul_bytes / rates.hbm),
        grouped=terms.padded_flops / rates.flops,
        memory=(terms.kernel_bytes + terms.other_bytes + terms.moved_bytes) / rates.hbm,
        send=_send(terms.sent_bytes, rates),
        move=rates.send_s(moved_before, rates.all_links),
        hidden=_send(terms.hidden_bytes, rates),
    )


def _send(by_group: Mapping[int, float], rates: SliceRates) -> float:
    return sum(rates.send_s(size, rates.links(group)) for group, size in by_group.items())


def bound(terms: Terms, rates: SliceRates) -> float:
    """Seconds that no call can be faster than. Integers at their own peak, where one is published; where none is, at
    twice that of bfloat16, which is the most that any of these chips has."""
    int8 = terms.int8_flops / (rates.int8_flops or 2 * rates.flops)
    flops = int8 + (terms.flops - terms.int8_flops) / rates.flops
    sent = rates.send_s(sum(terms.sent_bytes.values()), rates.all_links)
    return max(flops, terms.hbm_bytes / rates.hbm, sent)
