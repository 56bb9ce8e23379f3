"""What each device has to do, counted from a routing that is fixed. NumPy, outside the timed function.

The routing decides how many rows a device gets, and a program needs one number for all of them: the largest. So
nothing is dropped that a capacity does not drop, and the device with the most rows, for which all wait, computes no
row too many.
"""

from dataclasses import dataclass, replace

import numpy as np

from bench_core.arrays import Bool, Int32, Int64
from bench_core.parallel.spread import ONE_DEVICE, EpImpl, Spread
from bench_core.routing.layout import Assignments, Layout, plan_assignments
from bench_core.routing.request import Capacity, CapacityPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Buckets:
    """What a capacity is counted by. `of` names the bucket of every slot (null slots: -1); of each bucket the first
    `capacity` slots in the order of tokens are kept."""

    of: Int64[np.ndarray, "tokens topk"]
    capacity: int
    per: str

    @property
    def kept(self) -> Bool[np.ndarray, "tokens topk"]:
        """Which slots have an expert, and room in their bucket."""
        return (self.of >= 0) & (_ranks(self.of) < self.capacity)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadPlan:
    """The static part of a spread block.

    `assignments` counts all devices; its layout is that of one device's experts, or of all where XLA's partitioner
    shares them out. `pair_rows` is the size of the buffer that a device sends to another one (all_to_all), `sent_rows`
    what it sends in all (ragged). `rows` are those that each device's experts compute, in the order of the mesh; one
    number where nobody knows who computes which. `buckets`: None without a
    capacity.
    """

    spread: Spread
    assignments: Assignments
    rows: tuple[int, ...]
    pair_rows: int = 0
    sent_rows: int = 0
    buckets: Buckets | None = None

    @property
    def most_rows(self) -> int:
        """Rows that the experts of each device compute: as many as the device with the most has."""
        layout = self.assignments.layout
        return max(self.rows) if layout is None else layout.rows


def plan_spread(
    chosen: Int32[np.ndarray, "padded topk"], *, tokens: int, experts: int, capacity: Capacity, spread: Spread
) -> SpreadPlan:
    """Count the slots of a routing, in which a null slot names the expert `experts`. Rows past `tokens` were added so
    that every device has as many (see `Spread.padded_tokens`): their slots are null and are not counted."""
    if spread.devices == 1 or spread.auto:
        return _plan_whole(chosen, tokens, experts, capacity, spread)
    buckets = _buckets(chosen, experts, capacity, spread) if capacity.factor is not None else None
    kept = chosen < experts
    null = int((~kept[:tokens]).sum())
    if buckets is not None:
        kept &= buckets.kept
    own = _data_shard(chosen, spread) * spread.ep + np.where(kept, chosen, 0) // (experts // spread.ep)
    by_device = np.bincount(own[kept], minlength=spread.devices)
    real = int(kept.sum())
    slots = tokens * chosen.shape[1]
    pairs = spread.impl in (EpImpl.ALL_TO_ALL, EpImpl.RAGGED_ALL_TO_ALL)
    limit = buckets.capacity if buckets is not None and not pairs else None
    layout: Layout | None = Layout(rows=max(1, int(by_device.max())), capacity=limit, filled=True)
    if capacity.policy is CapacityPolicy.PAD and limit is not None:
        layout = Layout(rows=experts // spread.ep * limit, capacity=limit, padded=True)
    elif spread.impl is None and real == chosen.size:
        layout = None
    sent = _sent(chosen, kept, experts, spread) if pairs else np.zeros((1, 1), np.int64)
    return SpreadPlan(
        spread=spread,
        assignments=Assignments(real=real, null=null, dropped=slots - null - real, layout=layout),
        rows=tuple(int(n) for n in by_device),
        pair_rows=max(1, int(sent.max())),
        sent_rows=max(1, int(sent.sum(axis=1).max())),
        buckets=buckets,
    )


def _plan_whole(
    chosen: Int32[np.ndarray, "padded topk"], tokens: int, experts: int, capacity: Capacity, spread: Spread
) -> SpreadPlan:
    """One program sees all tokens, so that a capacity is of the whole batch, without tokens that were added."""
    own = chosen[:tokens]
    assignments = plan_assignments(own, experts=experts, capacity=capacity)
    if assignments.layout is None and tokens < chosen.shape[0]:
        assignments = replace(assignments, layout=Layout(rows=assignments.real))
    rows = own.size if assignments.layout is None else assignments.layout.rows
    buckets = _buckets(own, experts, capacity, ONE_DEVICE) if capacity.factor is not None else None
    if buckets is not None:
        buckets = replace(buckets, per="expert of the whole batch")
    return SpreadPlan(spread=spread, assignments=assignments, rows=(rows,), buckets=buckets)


def _data_shard(chosen: Int32[np.ndarray, "tokens topk"], spread: Spread) -> Int64[np.ndarray, "tokens 1"]:
    tokens = chosen.shape[0]
    return (np.arange(tokens) * spread.dp // tokens)[:, None]


def _source(chosen: Int32[np.ndarray, "tokens topk"], spread: Spread) -> Int64[np.ndarray, "tokens 1"]:
    """The device that has a token, where tokens are spread over all."""
    tokens = chosen.shape[0]
    return (np.arange(tokens) * spread.devices // tokens)[:, None]


def _buckets(chosen: Int32[np.ndarray, "tokens topk"], experts: int, capacity: Capacity, spread: Spread) -> Buckets:
    """By expert, among the tokens that its device sees; of a form that sends rows, by the pair of devices."""
    real = chosen < experts
    if spread.impl in (EpImpl.ALL_TO_ALL, EpImpl.RAGGED_ALL_TO_ALL):
        of = _source(chosen, spread) * spread.ep + chosen // (experts // spread.ep)
        limit = capacity.per_expert(assignments=chosen.size // spread.devices, experts=spread.ep)
        per = "pair of devices"
    else:
        of = _data_shard(chosen, spread) * experts + chosen
        limit = capacity.per_expert(assignments=chosen.size // spread.dp, experts=experts)
        per = "expert of a data shard"
    assert limit is not None  # noqa: S101  a capacity has a factor here
    return Buckets(of=np.where(real, of, -1).astype(np.int64), capacity=limit, per=per)


def _ranks(of: Int64[np.ndarray, "tokens topk"]) -> Int64[np.ndarray, "tokens topk"]:
    """How many slots of the same bucket come before each slot."""
    flat = of.reshape(-1)
    order = np.argsort(flat, kind="stable")
    ordered = flat[order]
    starts = np.searchsorted(ordered, ordered, side="left")
    ranks = np.empty(flat.size, np.int64)
    ranks[order] = np.arange(flat.size) - starts
    return ranks.reshape(of.shape)


def _sent(
    chosen: Int32[np.ndarray, "tokens topk"], kept: np.ndarray, experts: int, spread: Spread
) -> Int64[np.ndarray, "sources ep"]:
    """Rows that each device sends to each of its data shard's devices."""
    pair = _source(chosen, spread) * spread.ep + np.where(kept, chosen, 0) // (experts // spread.ep)
    counts = np.bincount(pair[kept], minlength=spread.devices * spread.ep)
    return counts.reshape(-1, spread.ep).astype(np.int64)
