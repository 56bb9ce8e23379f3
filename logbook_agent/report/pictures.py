"""The plots of a page, drawn into it, with the data of each as a table."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Iterable
from typing import Any

from markupsafe import Markup

from logbook_agent.findings.plots.figure import Figure
from logbook_agent.plots.draw import svg
from logbook_agent.plots.texts import exact

# A page of a thousand entries stays small: so many of them, the newest, have plots on it, each at most so many.
ENTRIES_WITH_PLOTS = 30
_OF_AN_ENTRY = 6
_KEPT = 512
_COLUMNS = ("series", "x", "y", "from", "to", "n", "entry")
_NUMERIC = {"x", "y", "from", "to", "n"}


def why_not() -> str | None:
    """Why a page has no plots; None: it can have them."""
    if importlib.util.find_spec("matplotlib") is not None:
        return None
    return "Plots need matplotlib: pip install 'logbook-agent[plot]'"


def pictures(found: Iterable[Figure], *, most: int | None = _OF_AN_ENTRY) -> list[dict[str, Any]]:
    """Figures as the templates take them. Raises UsageError where matplotlib is not installed."""
    return [_picture(figure) for figure in list(found)[:most]]


# A live view asks for the same figures again and again.
@functools.lru_cache(maxsize=_KEPT)
def _picture(figure: Figure) -> dict[str, Any]:
    return {
        "key": figure.key,
        "title": figure.title,
        "svg": Markup(svg(figure, inline=True)),  # noqa: S704 - written by an XML library from escaped values
        "columns": [{"name": name, "numeric": name in _NUMERIC} for name in _COLUMNS],
        "rows": [
            [series.name, *(_number(v) for v in (point.x, point.y, point.low, point.high)), point.n, point.entry]
            for series in figure.series
            for point in series.points
        ],
    }


def _number(value: float | str | None) -> str:
    return "" if value is None else exact(value)
