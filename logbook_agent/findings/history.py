"""How the primary metrics went, run by run and entry by entry: what a sparkline is drawn from.

Only runs that are no warm-ups have a place. One that failed, or measured nothing of the metric, is None there: it is a
gap, and no low value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from logbook_agent.findings.measured import unit_of, value_in
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
    """What each entry that counts and is settled measured of a metric, in order, with the unit: its best case where the
    direction says what is better, else the median of its runs. An entry whose runs all failed is a gap; one without
    runs has no place."""
    entries = [s for s in thread.counted if s["settled"] and s["runs"]]
    told = [_of_entry(s, metric) for s in entries]
    kept = common({unit for one in told if one is not None for unit in [one[1]]}, unit_of(metric))
    points = [one[0] if one is not None and one[1] in kept else None for one in told]
    unit = next((one[1] for one in told if one is not None and one[1] in kept and one[1] is not None), None)
    return (points[-POINTS:] if any(p is not None for p in points) else ()), unit


def _of_entry(summary: Any, metric: Metric) -> tuple[float, str | None] | None:
    """The value of an entry and its unit; None where no run of it measured the metric and finished."""
    measured = summary["measured"].get(metric.name, {})
    if (best := measured.get("best")) is not None:
        return best["value"], best["unit"]
    own = summary["history"].get(metric.name)
    values = [v for v in own["values"] if v is not None] if own is not None else []
    return (median(values), own["unit"]) if own is not None and values else None
