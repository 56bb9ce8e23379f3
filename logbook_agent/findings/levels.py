"""Runs of one case whose level changed on the way: said beside the result, and nothing that is counted changes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from logbook_agent.findings.case import repeats
from logbook_agent.findings.cases import Case, cases, counting
from logbook_agent.findings.tables.frame import RunKey
from logbook_agent.model.codec import encode
from logbook_agent.model.record import Record
from logbook_agent.model.stats import level_change, median
from logbook_agent.model.units import format_value, known

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


def level_changes(record: Record) -> list[dict[str, Any]]:
    """The cases of an entry whose level changed, as plain data: the config of the case, and what changed."""
    if sum(status.counts and bool(status.run.rows) for status in record.runs) < 2:
        return []
    found = []
    for group in repeats(counting(cases(record))):
        names = dict.fromkeys(name for case in group.cases for name in case.row.metrics)
        for level in (level_in(group.cases, name) for name in names):
            if level is not None:
                found.append({"config": dict(group.cases[0].row.config), **encode(level)})
    return found
