"""Runs of one case whose level changed on the way: said beside the result, and nothing that is counted changes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from logbook_agent.model.stats import median
from logbook_agent.model.stats.change import level_change
from logbook_agent.model.units import format_value, known

if TYPE_CHECKING:
    from logbook_agent.findings.cases import Case
    from logbook_agent.findings.tables.frame import RunKey

_FINISHED = ("finished", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """That a metric of a case had another level up to a run, and after it; both are medians of runs."""

    metric: str
    entry: str
    run: int
    before: float
    after: float

    def text(self, *, of_entry: bool = False) -> str:
        """`tflops: the level changed after run 12 (100.3 → 92.1)`; of which entry, where there are several."""
        decimals, spread = known(self.metric).decimals, abs(self.before - self.after)
        before, after = (format_value(v, decimals=decimals, spread=spread) for v in (self.before, self.after))
        of = f" of {self.entry}" if of_entry else ""
        return f"{self.metric}: the level changed after run {self.run}{of} ({before} → {after})"


def level_of(metric: str, runs: Sequence[tuple[RunKey, float]]) -> Level | None:
    """Where the level of a case changed, by the value of each of its runs."""
    ordered = sorted(runs)
    if not all(math.isfinite(value) for _, value in ordered):
        return None
    found = level_change([value for _, value in ordered])
    if found is None:
        return None
    _, entry, run = ordered[found.count - 1][0]
    return Level(metric=metric, entry=entry, run=run, before=found.before, after=found.after)


def level_in(own: Sequence[Case], metric: str) -> Level | None:
    """The same of the rows of a case: of runs that finished, one number each."""
    runs = [
        ((case.started, case.entry, case.run), median(m.samples))
        for case in own
        if case.state in _FINISHED
        and case.row.failed is None
        and (m := case.row.metrics.get(metric)) is not None
        and m.samples
    ]
    return level_of(metric, runs)
