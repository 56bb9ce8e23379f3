"""The plots of a page: pictures for wide and narrow screens, with their data as CSV, of which the page's script makes a
table."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable
from urllib.parse import quote

from markupsafe import Markup

from logbook_agent.report.figures.figure import Figure
from logbook_agent.report.figures.figure_table import as_csv
from logbook_agent.report.figures.figure_words import plain
from logbook_agent.report.figures.svg import NARROW, svg

# Pages stay small: so many plots of an entry.
OF_AN_ENTRY = 6
_KEPT = 512


def pictures(found: Iterable[Figure], most: int | None = None) -> list[dict[str, object]]:
    """Figures, at most so many, as the templates take them."""
    return [_picture(figure) for figure in itertools.islice(found, most)]


# A live view asks for the same figures again and again.
@functools.lru_cache(maxsize=_KEPT)
def _picture(figure: Figure) -> dict[str, object]:
    return {
        "key": figure.key,
        "title": plain(figure.title),
        "note": plain(figure.note),
        "svg": Markup(svg(figure, framed=False)),  # noqa: S704 - its texts are escaped there
        "narrow": Markup(svg(figure, width=NARROW, framed=False)),  # noqa: S704 - its texts are escaped there
        "csv": f"data:text/csv;charset=utf-8,{quote(as_csv(figure), safe=' ,.:=/+')}",
    }
