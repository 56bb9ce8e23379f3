"""What runs that went well did not say: no result at all, or none that the logbook takes for a measurement."""

from __future__ import annotations

from collections.abc import Sequence

from logbook_agent.model.header import Metric
from logbook_agent.model.run import Run

_SHOWN = 5


def unmeasured(runs: Sequence[Run], metrics: Sequence[Metric]) -> str | None:
    """Why runs that finished measured nothing, and what to print; None where they did, or nothing was to be."""
    rows = [row for run in runs for row in run.rows]
    good = [run for run in runs if run.exit is not None and run.exit.code == 0]
    if not metrics or not good or any(row.metrics or row.failed is not None for row in rows):
        return None
    if any(run.predictions for run in good):
        return None  # nothing was to be measured
    if any(run.problems for run in good):
        return None  # these say what is wrong
    names = [m.name for m in metrics if m.primary] or [m.name for m in metrics]
    if not rows:
        return f"no result: the command printed no line of the form RESULT {names[0]}=0.31"
    said = list(dict.fromkeys(name for row in rows for name in (*row.observations, *row.labels, *row.config)))
    line = f"the RESULT line has {_some(said)}" if said else "the RESULT line has no key"
    return f"no metric: the logbook declares {_some(names)}, {line}"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
