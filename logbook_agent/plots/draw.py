"""`svg`: a figure as a picture."""

from __future__ import annotations

from logbook_agent.findings.plots.figure import Figure
from logbook_agent.plots.drawing import rendered
from logbook_agent.plots.layout import lay_out
from logbook_agent.plots.markup import marked


def svg(figure: Figure, *, inline: bool = False) -> str:
    """The figure as SVG; equal figures give equal text.

    For itself, it has a light and a dark theme and its own background. `inline`, to stand in an HTML page: its colours
    are `--ink`, `--paper`, `--grid` and `--series-1` to `--series-8` of the page, where that sets them. Every mark is
    an element of class `mark` with `data-entry`, `data-series`, `data-x`, `data-y`, `data-low`, `data-high` and
    `data-n`, and its title says it in words.

    Raises UsageError where matplotlib is not installed.
    """
    return marked(rendered(figure, lay_out(figure)), figure, inline=inline)
