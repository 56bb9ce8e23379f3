"""Plots that cannot be drawn: figures without marks that say why, so pages and commands go on without them."""

from __future__ import annotations

from collections.abc import Callable

from logbook_agent.findings.plots.figure import Figure, FigureKind, PlotAxis
from logbook_agent.findings.plots.words import key
from logbook_agent.model.errors import LogbookError


def undrawn(kind: FigureKind, why: str, *, entry: str | None, metric: str | None, title: str = "") -> Figure:
    """A figure without marks; `missing` says why."""
    owner = entry or "thread"
    named = " ".join(filter(None, [f"{entry}:" if entry else "", metric, kind.value]))
    return Figure(
        key=key(owner, kind.value, metric or ""),
        kind=kind,
        title=title or named,
        x=PlotAxis(name=""),
        y=PlotAxis(name=metric or ""),
        series=(),
        note="",
        entries=(entry,) if entry else (),
        entry=entry,
        missing=why,
    )


def attempted(
    make: Callable[[], Figure | None], kind: FigureKind, *, entry: str | None, metric: str | None
) -> Figure | None:
    """The figure that `make` returns, or one that says why `make` failed."""
    try:
        return make()
    except Exception as error:  # noqa: BLE001  whatever it is: the page and the other plots do without this one
        return undrawn(kind, failure(error), entry=entry, metric=metric)


def failure(error: Exception) -> str:
    """The message of an error; errors of other libraries with their type: `ZeroDivisionError: division by zero`."""
    if isinstance(error, LogbookError):
        return error.message
    return f"{type(error).__name__}: {error}"
