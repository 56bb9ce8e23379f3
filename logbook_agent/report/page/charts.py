"""The plots of a page: pictures for wide and narrow screens, with their data as CSV, of which the page's script makes a
table; and curves, with the data from which it draws them to be zoomed."""

from __future__ import annotations

import functools
import itertools
import json
import math
from array import array
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from logbook_agent.features import hook_module
from logbook_agent.findings.read import Findings
from logbook_agent.model.record import Record
from logbook_agent.model.run import Run
from logbook_agent.report.figures.figure import Figure, FigureKind, PlotAxis, PlotPoint, PlotSeries, as_csv, plain
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


# The newest entries with curves show them; all lines of a page share so many points.
_ENTRIES = 30
_POINTS_OF_A_PAGE, _LEAST_POINTS, _MOST_POINTS = 40_000, 60, 2_000
# Points of a line in the plain picture.
_PLAIN_POINTS = 120


class CurveCharts:
    """The charts of the curves of a logbook. None where no feature keeps curves, or no run has one."""

    def __init__(self, findings: Findings, records: Sequence[Record]) -> None:
        with_curves = [r for r in records if any(s.run.curves for s in r.runs)]
        self._feature: Any = hook_module("curves") if with_curves else None
        self._book: Any = findings.records
        self._metrics = [metric.name for metric in findings.header.metrics]
        shown = with_curves[-_ENTRIES:] if self._feature is not None else []
        self.entries = frozenset(record.id for record in shown)
        # Of runs that count, those of the thread are drawn over each other.
        counting = {record.id for record in findings.counting} if shown else set()
        self._thread = [run for record in shown if record.id in counting for run in _runs(record)]
        lines = sum(len(run.curves) for record in shown for run in _runs(record)) + len(self._thread)
        self.points = min(_MOST_POINTS, max(_LEAST_POINTS, _POINTS_OF_A_PAGE // max(1, lines)))

    def of_entry(self, record: Record) -> list[dict[str, object]]:
        """The charts of an entry; none for one that is not among the newest with curves."""
        return self._made(f"{record.id}-", _runs(record)) if record.id in self.entries else []

    def of_thread(self) -> list[dict[str, object]]:
        """The declared metrics of the runs of several entries, over each other."""
        if len({run.entry for run in self._thread}) < 2:
            return []
        return self._made("thread-", self._thread, only=self._metrics or None)

    def _made(self, prefix: str, runs: Sequence[Run], only: Sequence[str] | None = None) -> list[dict[str, object]]:
        charts = self._feature.charts(self._book, runs, metrics=self._metrics, only=only, most_points=self.points)
        return [
            chart_values(f"chart-{prefix}{place}", chart.data(), chart.left_out) for place, chart in enumerate(charts)
        ]


def _runs(record: Record) -> list[Run]:
    """The runs of an entry that have curves; warm-ups do not count."""
    return [status.run for status in record.runs if status.run.curves and status.counts]


def chart_values(key: str, data: dict[str, Any], left_out: int = 0) -> dict[str, object]:
    """A chart as the macro `charts` takes it."""
    return {
        "key": key,
        "title": data["title"],
        "json": inert_json(json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)),
        "svg": Markup(svg(_figure(key, data), framed=False)),  # noqa: S704 - its texts are escaped there
        "series": data["series"],
        "left_out": left_out,
    }


def _figure(key: str, data: dict[str, Any]) -> Figure:
    """A curve is a sweep over its steps; a value that is not finite makes a gap."""
    feature, series = hook_module("curves"), list[PlotSeries]()
    for one in data["series"]:
        values = array("d", [math.nan if y is None else y for y in one["y"]])
        points = tuple(
            PlotPoint(x=one["x"][at], y=values[at], said=one["label"], entry=one["entry"] or "")
            for at in feature.thinned(values, _PLAIN_POINTS)
        )
        series.append(PlotSeries(name=one["label"], shape="curve", points=points))
    x, y = (PlotAxis(name=data[of]["label"], unit=data[of]["unit"] or "", log=data[of]["log"]) for of in ("x", "y"))
    kind, title = FigureKind.SWEEP, data["title"]
    return Figure(key=key, kind=kind, title=title, x=x, y=y, series=tuple(series), note="", entries=())


def inert_json(text: str) -> Markup:
    """JSON that no element around it can be closed by."""
    for sign in "<>&'":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # noqa: S704 - nothing in it is markup
