"""Counts of a routing: which assignments have a row in the experts' buffer, and how even they are. NumPy."""

from dataclasses import dataclass

import numpy as np

from bench_core.arrays import Int, Int32
from bench_core.routing.request import Capacity, CapacityPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The static part of a dispatch. `rows` is known when the block is compiled, because the routing is fixed:
    so null and dropped assignments have no row at all, on every backend.

    `capacity` is None without a policy; when `padded`, every expert has that many rows. The
    assignments may be fewer than the rows, as on a device that has fewer than another: when `filled`, the last expert
    has the others, which are zeros; else nobody has.
    """

    rows: int
    capacity: int | None = None
    padded: bool = False
    filled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignments:
    """Where the tokens * topk slots went: `real` + `null` + `dropped` of them. `layout` is None when all are
    real and no expert is padded."""

    real: int
    null: int
    dropped: int
    layout: Layout | None


def plan_assignments(chosen: Int32[np.ndarray, "tokens topk"], *, experts: int, capacity: Capacity) -> Assignments:
    """Count the slots of a routing, in which a null slot names the expert `experts`."""
    load = np.bincount(chosen.reshape(-1), minlength=experts + 1)
    null, load = int(load[experts]), load[:experts]
    limit = capacity.per_expert(assignments=chosen.size, experts=experts)
    kept = int(load.sum() if limit is None else np.minimum(load, limit).sum())
    dropped = chosen.size - null - kept
    padded = capacity.policy is CapacityPolicy.PAD
    layout = None
    if padded or limit is not None or null:
        layout = Layout(rows=experts * limit if padded and limit else kept, capacity=limit, padded=padded)
    return Assignments(real=kept, null=null, dropped=dropped, layout=layout)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadStatistics:
    """Assignments per expert; `std` is the population's, `cv` = std / mean, None when there are none."""

    min: int
    max: int
    mean: float
    std: float
    cv: float | None


def load_statistics(chosen: Int[np.ndarray, "tokens topk"], experts: int) -> LoadStatistics:
    """Statistics of the assignments per expert: empty experts included, null slots (expert `experts`) not.
    Assignments that a capacity drops count, because the router made them."""
    load = np.bincount(chosen.reshape(-1), minlength=experts)[:experts]
    mean, std = float(load.mean()), float(load.std())
    return LoadStatistics(
        min=int(load.min()), max=int(load.max()), mean=mean, std=std, cv=std / mean if mean > 0 else None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatistics:
    """Runs of consecutive tokens with the same first choice, and their lengths in tokens. The lengths are None
    when there is no run."""

    count: int
    mean: float | None
    p95: float | None
    max: int | None


def run_statistics(chosen: Int[np.ndarray, "tokens topk"], experts: int) -> RunStatistics:
    """Runs of the first slot; tokens whose first slot is null are left out. p95 interpolates linearly."""
    first = chosen[:, 0][chosen[:, 0] < experts]
    if first.size == 0:
        return RunStatistics(count=0, mean=None, p95=None, max=None)
    starts = np.flatnonzero(np.diff(first, prepend=-1))
    lengths = np.diff(starts, append=first.size)
    return RunStatistics(
        count=int(lengths.size),
        mean=float(lengths.mean()),
        p95=float(np.percentile(lengths, 95)),
        max=int(lengths.max()),
    )
