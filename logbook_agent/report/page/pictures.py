"""The plots of a page, drawn into it, with the data of each as a table."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Iterable, Sequence

from markupsafe import Markup

from logbook_agent.model.errors import CannotDraw
from logbook_agent.report.figures.figure import Figure
from logbook_agent.report.figures.figure_words import exact
from logbook_agent.report.plots.svg import svg

# Pages stay below 5 MB: of more entries than this there are no plots; otherwise the newest entries have them, each at
# most so many.
_MOST_ENTRIES = 300
_ENTRIES_WITH_PLOTS = 30
_OF_AN_ENTRY = 6
_KEPT = 512
_COLUMNS = ("series", "x", "y", "from", "to", "n", "entry")
_NUMERIC = {"x", "y", "from", "to", "n"}


def why_not(entries: int) -> str | None:
    """Why a page of so many entries has no plots; None: it has them."""
    if entries > _MOST_ENTRIES:
        return f"Pages of more than {_MOST_ENTRIES} entries have no plots; logbook plot draws them as files."
    if importlib.util.find_spec("matplotlib") is not None:
        return None
    return "No plots: matplotlib is not installed. pip install 'logbook-agent[plot]'"


def drawn(order: Sequence[str]) -> Sequence[str]:
    """The entries of a page that have their plots on it, from all of its entries in order."""
    return order[-_ENTRIES_WITH_PLOTS:] if why_not(len(order)) is None else ()


def pictures(found: Iterable[Figure], *, most: int | None = _OF_AN_ENTRY) -> list[dict[str, object]]:
    """Figures as the templates take them: with an `svg`, or with the reason why there is none. Raises UsageError where
    matplotlib is not installed."""
    return [_picture(figure) for figure in list(found)[:most]]


# A live view asks for the same figures again and again.
@functools.lru_cache(maxsize=_KEPT)
def _picture(figure: Figure) -> dict[str, object]:
    try:
        drawn_svg = Markup(svg(figure, inline=True))  # noqa: S704 - written by an XML library from escaped values
    except CannotDraw as error:
        return {"key": figure.key, "title": figure.title, "missing": error.why}
    return {
        "key": figure.key,
        "title": figure.title,
        "missing": "",
        "svg": drawn_svg,
        "columns": [{"name": name, "numeric": name in _NUMERIC} for name in _COLUMNS],
        "rows": [
            [series.name, *(_number(v) for v in (point.x, point.y, point.low, point.high)), point.n, point.entry]
            for series in figure.series
            for point in series.points
        ],
    }


def _number(value: float | str | None) -> str:
    return "" if value is None else exact(value)
