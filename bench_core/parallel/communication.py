"""What each form has to send, whatever a compiler makes of it, and what the compiled program of a case sends. No JAX.

Keys that begin with `model_ring_bytes` are the former, `compiled_` the latter. Single numbers (the loss, sizes of
parts) are not counted.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bench_core.accounting.work import ITEM_BYTES, size
from bench_core.hlo.collectives import Collective, CollectiveKind, collectives, ring_bytes
from bench_core.hlo.module import parse
from bench_core.parallel.plan import SpreadPlan
from bench_core.parallel.spread import EpImpl
from bench_core.shapes import BenchPass, DType, MoeShape

WEIGHT_BYTES = 4
"""Of a routing weight: float32."""
SLOT_BYTES = 4 + WEIGHT_BYTES
"""Of the expert and the weight of a slot, which are sent beside tokens and rows: int32 and float32."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """One exchange of every device. `what` is an array of the block; `payload_bytes` and `group` are as in
    `hlo.collectives.Collective`."""

    what: str
    kind: CollectiveKind
    payload_bytes: int
    group: int

    @property
    def ring_bytes(self) -> float:
        """That each device sends in a ring."""
        return ring_bytes(self.kind, self.payload_bytes, self.group)


def sendings(shape: MoeShape, dtype: DType, bench_pass: BenchPass, plan: SpreadPlan) -> list[Sending]:
    """What a call sends between devices.

    forward_backward adds the gradients: those of what was sent go the other way, and those of weights that lie on
    several devices are summed over these. So does train with those of the routing weights and of the router. What
    XLA's partitioner cuts has to send nothing: with few tokens every device computes all rows, and sums no weights.
    """
    if plan.spread.auto:
        return []
    trains = bench_pass is BenchPass.TRAIN
    found = list(_tokens(shape, dtype, plan, backward=bench_pass.backward, trains=trains))
    if bench_pass.backward:
        found += _weights(shape, dtype, plan, trains=trains)
    return found


def model_ring_bytes(found: list[Sending]) -> dict[str, float]:
    """Bytes that each device sends in rings, in all and by what is sent."""
    numbers: dict[str, float] = defaultdict(float)
    for one in found:
        numbers["model_ring_bytes"] += one.ring_bytes
        numbers[f"model_ring_bytes_{one.what}"] += one.ring_bytes
    return numbers or {"model_ring_bytes": 0.0}


def _tokens(shape: MoeShape, dtype: DType, plan: SpreadPlan, *, backward: bool, trains: bool) -> Iterator[Sending]:
    spread = plan.spread
    row, group = shape.hidden * ITEM_BYTES[dtype], spread.ep
    own = spread.padded_tokens(shape.tokens) // spread.dp

    def sends(what: str, kind: CollectiveKind, payload_bytes: int) -> Sending:
        return Sending(what=what, kind=kind, payload_bytes=payload_bytes, group=group)

    match spread.impl:
        case None:
            return
        case EpImpl.PSUM:
            # Every device has all tokens of its data shard, and a share of every sum.
            yield sends("outputs", CollectiveKind.ALL_REDUCE, own * row)
            if backward:
                yield sends("token_gradients", CollectiveKind.ALL_REDUCE, own * row)
        case EpImpl.RING:
            yield sends("tokens", CollectiveKind.ALL_GATHER, own * row)
            yield sends("routing", CollectiveKind.ALL_GATHER, own * shape.topk * SLOT_BYTES)
            yield sends("outputs", CollectiveKind.REDUCE_SCATTER, own * row)
            if backward:
                yield sends("output_gradients", CollectiveKind.ALL_GATHER, own * row)
                yield sends("token_gradients", CollectiveKind.REDUCE_SCATTER, own * row)
            if trains:
                yield sends("routing_gradients", CollectiveKind.REDUCE_SCATTER, own * shape.topk * WEIGHT_BYTES)
        case EpImpl.ALL_TO_ALL | EpImpl.RAGGED_ALL_TO_ALL:
            exact = spread.impl is EpImpl.RAGGED_ALL_TO_ALL
            kind = CollectiveKind.RAGGED_ALL_TO_ALL if exact else CollectiveKind.ALL_TO_ALL
            # Buffers are of one size, exact parts of that device which sends, or gets, the most.
            there = plan.sent_rows if exact else spread.ep * plan.pair_rows
            back = plan.most_rows if exact else there
            yield sends("tokens", kind, there * row)
            yield sends("routing", kind, there * SLOT_BYTES)
            yield sends("outputs", kind, back * row)
            if backward:
                yield sends("output_gradients", kind, there * row)
                yield sends("token_gradients", kind, back * row)
            if trains:
                yield sends("routing_gradients", kind, back * WEIGHT_BYTES)


def _weights(shape: MoeShape, dtype: DType, plan: SpreadPlan, *, trains: bool) -> Iterator[Sending]:
    spread = plan.spread
    routed = 3 * shape.experts // spread.ep * shape.hidden * shape.mlp_dim
    shared = 3 * shape.hidden * shape.shared_expert_dim
    router = shape.hidden * shape.experts if trains else 0
    for elements, group in ((routed, spread.dp), (shared + router, spread.devices)):
        if elements and group > 1:
            payload = elements * ITEM_BYTES[dtype]
            yield Sending(what="weight_gradients", kind=CollectiveKind.ALL_REDUCE, payload_bytes=payload, group=group)


@dataclass(frozen=True, slots=True, kw_only=True)
class Communication:
    """The collectives of one device for one call. `unknown` says why nobody knows them, or how often they run."""

    found: tuple[Collective, ...] = ()
    unknown: str | None = None

    @property
    def ring_bytes(self) -> int | float | None:
        """That a device sends in a call, see `hlo.collectives.ring_bytes`; None where that is not known."""
        return None if self.unknown else sum(_ring_bytes(one) for one in self.found)

    def observations(self) -> dict[str, int | float | None]:
        """Of each kind that occurs how many, their payload and what a device sends for them in a ring."""
        if self.unknown:
            return {"compiled_ring_bytes": None}
        numbers: dict[str, int | float | None] = {
            "compiled_ring_bytes": self.ring_bytes,
            "compiled_async_collectives": _count(one for one in self.found if one.asynchronous),
        }
        for kind in CollectiveKind:
            alike = [one for one in self.found if one.kind is kind]
            if alike:
                word = kind.value.replace("-", "_")
                numbers[f"compiled_{word}_count"] = _count(alike)
                numbers[f"compiled_{word}_bytes"] = sum(one.payload_bytes * _times(one) for one in alike)
                numbers[f"compiled_{word}_ring_bytes"] = sum(_ring_bytes(one) for one in alike)
        return numbers

    def labels(self) -> dict[str, str]:
        if self.unknown:
            return {"communication_unknown": self.unknown}
        return {"collectives": described(self.found) or "none"}


def read_communication(text: str | None) -> Communication:
    """From the optimised HLO of a program for several devices; None where it cannot be read.

    A collective of one device sends nothing and is left out.
    """
    if text is None:
        return Communication(unknown="the compiled program cannot be read: do libtpu and jaxlib fit together?")
    try:
        found = tuple(one for one in collectives(parse(text)) if one.group > 1)
    except ValueError as error:
        return Communication(unknown=str(error))
    uncounted = sum(one.times is None for one in found)
    why = f"{uncounted} of {len(found)} collectives are in loops or branches, and run nobody knows how often"
    return Communication(found=found, unknown=why if uncounted else None)


def described(found: Sequence[Collective]) -> str:
    """Equal collectives together, those that send the most first."""
    alike: dict[tuple[CollectiveKind, int, int, bool], list[Collective]] = defaultdict(list)
    for one in found:
        alike[one.kind, one.payload_bytes, one.group, one.asynchronous].append(one)
    groups = sorted(alike.values(), key=lambda group: -sum(_ring_bytes(one) for one in group))
    return "; ".join(_group(group) for group in groups)


def _group(alike: list[Collective]) -> str:
    first = alike[0]
    words = f"{_count(alike)} {first.kind.value} of {size(first.payload_bytes)} among {first.group}"
    return f"{words}, asynchronous" if first.asynchronous else words


def _times(one: Collective) -> int:
    return one.times or 1


def _ring_bytes(one: Collective) -> float:
    return one.ring_bytes * _times(one)


def _count(alike: Iterable[Collective]) -> int:
    return sum(_times(one) for one in alike)
