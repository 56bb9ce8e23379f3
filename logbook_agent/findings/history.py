"""How the primary metrics went, run by run and entry by entry: what a sparkline is drawn from.

Only runs that are no warm-ups have a place. One that failed, or measured nothing of the metric, is None there: it is a
gap, and no low value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from logbook_agent.findings.measurements import unit_of, value_in
from logbook_agent.findings.thread import Thread
from logbook_agent.model.entry import VOID
from logbook_agent.model.header import Header, Metric
from logbook_agent.model.record import Record
from logbook_agent.model.stats import median
from logbook_agent.model.units import common

# No line of a terminal has room for more.
POINTS = 60
# Values in order; None is a gap.
History = Sequence[float | None]


def histories(record: Record, header: Header) -> dict[str, dict[str, Any]]:
    """By primary metric the last values of an entry's runs, each the median of its rows, and their unit; metrics of
    which nothing was measured are left out. Plain data: it is indexed."""
    if record.state == VOID:
        return {}
    runs = [s for s in record.runs if s.counts and s.run.exit is not None]
    found = {}
    for metric in (m for m in header.metrics if m.primary):
        taken = [[of for row in s.run.rows if (of := value_in(row, metric)) is not None] for s in runs]
        kept = common({unit for of in taken for _, unit in of}, unit_of(metric))
        points = [
            median(values) if s.state == "finished" and (values := [v for v, u in of if u in kept]) else None
            for s, of in zip(runs, taken, strict=True)
        ]
        if any(point is not None for point in points):
            unit = next((u for of in taken for _, u in of if u in kept and u is not None), None)
            found[metric.name] = {"unit": unit, "values": points[-POINTS:]}
    return found


def of_thread(thread: Thread, metric: Metric) -> tuple[History, str | None]:
    """The median over the runs of each entry that counts and is settled, in order, with the unit. An entry whose runs
    all failed is a gap; one without runs has no place."""
    told = [s["history"].get(metric.name) for s in thread.counted if s["settled"] and s["runs"]]
    kept = common({one["unit"] for one in told if one is not None}, unit_of(metric))
    points = []
    for one in told:
        values = [v for v in one["values"] if v is not None] if one is not None and one["unit"] in kept else []
        points.append(median(values) if values else None)
    unit = next((one["unit"] for one in told if one is not None and one["unit"] in kept and one["unit"]), None)
    return (points[-POINTS:] if any(p is not None for p in points) else ()), unit
