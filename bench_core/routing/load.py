"""How evenly the experts are loaded."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadStatistics:
    """Assignments per expert; `std` is the population's, `cv` = std / mean."""

    min: int
    max: int
    mean: float
    std: float
    cv: float


def load_statistics(chosen: Int[np.ndarray, "tokens topk"], experts: int) -> LoadStatistics:
    """Statistics of the assignments per expert, empty experts included."""
    load = np.bincount(chosen.reshape(-1), minlength=experts)
    mean, std = float(load.mean()), float(load.std())
    return LoadStatistics(min=int(load.min()), max=int(load.max()), mean=mean, std=std, cv=std / mean)
