"""The curves of an entry in words: a line each."""

from __future__ import annotations

from logbook_agent.model.record import Record
from logbook_agent.model.run import Curve
from logbook_agent.model.units import format_value, known
from logbook_agent.text import markdown as md
from logbook_agent.text.phrases import assignments, bounded, counted

_SHOWN = 8


def curve_lines(record: Record) -> list[str]:
    """A line of Markdown for each curve of the runs, the first few of them."""
    runs = [status.run for status in record.runs]
    found = [
        f"run {run.run}: {curve_text(curve)}" if len(runs) > 1 else curve_text(curve)
        for run in runs
        for curve in run.curves
    ]
    return bounded([*map(md.escape, found)], _SHOWN, f"more curves: `logbook show {record.id} --json`")


def curve_text(curve: Curve) -> str:
    """`loss over step: 200 points, 0 to 1,990; last 0.58 nat, best 0.57 at 1,960; mean=10 counts: 0.6 nat`."""

    def said(value: float | None) -> str:
        return "not finite" if value is None else format_value(value, decimals=known(curve.name).decimals)

    unit = f" {curve.unit}" if curve.unit else ""
    case = f" ({assignments(curve.config)})" if curve.config else ""
    steps = f"{format_value(curve.first_step)} to {format_value(curve.last_step)}"
    text = (
        f"{curve.name} over {curve.over}{case}: {counted(curve.count, 'point')}, {steps}; last {said(curve.last)}{unit}"
    )
    if curve.best is not None:
        text += f", best {said(curve.best)} at {format_value(curve.best_step)}"
    if curve.reduction == "best":
        text += "; the best counts"
    elif curve.reduction != "last":
        text += f"; {curve.reduction} counts: {said(curve.value)}{unit}"
    return text
