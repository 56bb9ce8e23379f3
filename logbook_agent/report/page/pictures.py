"""The plots of a page: a chart that its script draws, and what a reader without scripts sees."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Iterable, Sequence

from markupsafe import Markup

from logbook_agent.model.errors import CannotDraw
from logbook_agent.report.charts.chart import chart_json
from logbook_agent.report.charts.from_figure import chart_of
from logbook_agent.report.figures.figure import Figure
from logbook_agent.report.figures.figure_words import exact, plain
from logbook_agent.report.plots.svg import svg

# Pages stay small, and are made in seconds: the newest entries have their plots, each at most so many; of more entries
# than can be drawn in that time there is no picture beside the chart.
_ENTRIES_WITH_PLOTS = 30
_ENTRIES_WITH_PICTURES = 60
_OF_AN_ENTRY = 6
_KEPT = 512
# Rows of a table that stands for a chart where there is no script and no picture.
_MOST_ROWS = 50
_COLUMNS = ("series", "x", "y", "from", "to", "n", "entry")
_NUMERIC = {"x", "y", "from", "to", "n"}


def drawn(order: Sequence[str]) -> Sequence[str]:
    """The entries of a page that have their plots on it, from all of its entries in order."""
    return order[-_ENTRIES_WITH_PLOTS:]


def pictures(found: Iterable[Figure], *, entries: int, most: int | None = _OF_AN_ENTRY) -> list[dict[str, object]]:
    """Figures as the templates take them: with the JSON of a `chart`, and for readers without scripts an `svg`, or
    `rows` where the page has too many `entries` for pictures or matplotlib is not installed."""
    has_pictures = entries <= _ENTRIES_WITH_PICTURES and importlib.util.find_spec("matplotlib") is not None
    return [_picture(figure, has_pictures) for figure in list(found)[:most]]


# A live view asks for the same figures again and again.
@functools.lru_cache(maxsize=_KEPT)
def _picture(figure: Figure, has_pictures: bool) -> dict[str, object]:
    told: dict[str, object] = {
        "key": figure.key,
        "title": plain(figure.title),
        "note": plain(figure.note),
        "missing": figure.missing,
    }
    if figure.missing:
        return told
    try:
        picture = Markup(svg(figure, inline=True)) if has_pictures else None  # noqa: S704 - written by an XML library from escaped values
    except CannotDraw as error:
        return {**told, "missing": error.why}
    return {
        **told,
        "chart": inert_json(chart_json(chart_of(figure))),
        "svg": picture,
        "columns": [{"name": name, "numeric": name in _NUMERIC} for name in _COLUMNS],
        "rows": [] if picture else _rows(figure),
    }


def _rows(figure: Figure) -> list[list[object]]:
    points = [(series.name, point) for series in figure.series for point in series.points]
    return [
        [plain(name), *(_number(v) for v in (p.x, p.y, p.low, p.high)), p.n, p.entry] for name, p in points[:_MOST_ROWS]
    ]


def _number(value: float | str | None) -> str:
    return "" if value is None else exact(value)


def inert_json(text: str) -> Markup:
    """JSON that no element around it can be closed by."""
    for sign in "<>&'":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # noqa: S704 - nothing in it is markup
