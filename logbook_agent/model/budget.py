"""What the runs of a thread may take."""

from __future__ import annotations

import math

from msgspec import Struct


class Budget(Struct, frozen=True, kw_only=True):
    """So many runs and hours of runs at most; None: any."""

    runs: int | None = None
    hours: float | None = None

    def __post_init__(self) -> None:
        for name, most in (("runs", self.runs), ("hours", self.hours)):
            if most is not None and not 0 < most < math.inf:
                raise ValueError(f"{name}: expected a number above 0, got {most:g}")

    def is_spent(self, runs: int, hours: float) -> bool:
        return runs >= (self.runs or math.inf) or hours >= (self.hours or math.inf)

    def text(self, runs: int, hours: float) -> str:
        """`2 of 2 runs and 0.50 of 3 hours spent`."""
        said = [f"{runs} of {self.runs} runs"] if self.runs is not None else []
        said += [f"{hours:.2f} of {self.hours:g} hours"] if self.hours is not None else []
        return f"{' and '.join(said)} spent"


NO_BUDGET = Budget()
