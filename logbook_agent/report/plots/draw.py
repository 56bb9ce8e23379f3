"""`svg`: a figure as a picture."""

from __future__ import annotations

from logbook_agent.model.errors import CannotDraw, LogbookError
from logbook_agent.report.figures.figure import Figure, failure
from logbook_agent.report.plots.drawing import rendered
from logbook_agent.report.plots.layout import lay_out
from logbook_agent.report.plots.markup import marked


def svg(figure: Figure, *, inline: bool = False) -> str:
    """The figure as SVG; equal figures give equal text.

    As a file, it has a light and a dark theme and its own background. With `inline`, for an HTML page, it uses the
    colours `--ink`, `--paper`, `--grid` and `--series-1` to `--series-8` that the page sets. Every mark is
    an element of class `mark` with `data-entry`, `data-series`, `data-x`, `data-y`, `data-low`, `data-high` and
    `data-n`, and its title says it in words.

    Raises UsageError if matplotlib is not installed, and CannotDraw if the figure cannot be drawn.
    """
    if figure.missing:
        raise _cannot(figure, figure.missing)
    try:
        return marked(rendered(figure, lay_out(figure)), figure, inline=inline)
    except LogbookError:
        raise
    except Exception as error:
        raise _cannot(figure, failure(error)) from error


def _cannot(figure: Figure, why: str) -> CannotDraw:
    hint = f"logbook table {figure.entry}" if figure.entry is not None else "logbook table"
    return CannotDraw(f"{figure.title}: not drawn: {why}", why=why, cause="this plot cannot show its data", hint=hint)
