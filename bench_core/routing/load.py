"""How evenly the experts are loaded, and how long tokens stay with one of them."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int


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
