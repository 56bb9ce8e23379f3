"""The curves of a page: figures that its script draws from data, and where there is no script, lines and a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from logbook_agent.features import hook_module
from logbook_agent.findings.read import Findings
from logbook_agent.model.record import Record
from logbook_agent.model.run import Run
from logbook_agent.model.units import format_value
from logbook_agent.report.page.pictures import inert_json

# The newest entries with curves show them; all lines of a page share so many points.
_ENTRIES = 30
_POINTS_OF_A_PAGE, _LEAST_POINTS, _MOST_POINTS = 40_000, 60, 2_000
# Without a script: points of a line, and the size of the picture.
_PLAIN_POINTS = 120
_WIDTH, _HEIGHT, _LEFT, _BELOW = 640, 220, 70, 24
_COLUMNS = ("curve", "points shown", "first step", "last step", "first", "last", "lowest", "highest")
_NAMED, _NAMES = 1, 8


class CurveCharts:
    """The charts of the curves of a logbook. None where no feature keeps curves, or no run has one."""

    def __init__(self, findings: Findings, records: Sequence[Record]) -> None:
        with_curves = [r for r in records if any(s.run.curves for s in r.runs)]
        self._feature: Any = hook_module("curves") if with_curves else None
        self._book: Any = findings.records
        self._metrics = [metric.name for metric in findings.header.metrics]
        shown = with_curves[-_ENTRIES:] if self._feature is not None else []
        self.entries = frozenset(record.id for record in shown)
        self.left = len(with_curves) - len(shown)
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
        "svg": _plain(data),
        "columns": [{"name": name, "numeric": place >= _NAMED} for place, name in enumerate(_COLUMNS)],
        "rows": [_row(series) for series in data["series"]],
        "left_out": left_out,
    }


def _row(series: dict[str, Any]) -> list[str]:
    xs, ys = series["x"], series["y"]
    known = [y for y in ys if y is not None]
    span = (min(known), max(known)) if known else (None, None)
    ends = (xs[0], xs[-1], ys[0], ys[-1], *span)
    return [series["label"], f"{len(xs):,}", *("not finite" if v is None else format_value(v) for v in ends)]


def _plain(data: dict[str, Any]) -> dict[str, object]:
    """The lines of a chart as points of a picture, with the ends of its axes."""
    xs = [x for series in data["series"] for x in series["x"]]
    ys = [y for series in data["series"] for y in series["y"] if y is not None]
    low, high = (min(ys), max(ys)) if ys else (0.0, 1.0)
    first, last = (min(xs), max(xs)) if xs else (0.0, 1.0)
    across, up = (_WIDTH - _LEFT) / ((last - first) or 1.0), (_HEIGHT - _BELOW - 16) / ((high - low) or 1.0)
    named = data["series"][:_NAMES] if len(data["series"]) > 1 else []
    lines = []
    for place, series in enumerate(data["series"]):
        pieces: list[list[str]] = [[]]
        for x, y in _few(series["x"], series["y"]):
            if y is None:
                pieces.append([])
            else:
                pieces[-1].append(f"{_LEFT + (x - first) * across:.0f},{_HEIGHT - _BELOW - (y - low) * up:.0f}")
        lines += [{"colour": place % 8 + 1, "points": " ".join(piece)} for piece in pieces if piece]
    return {
        "width": _WIDTH,
        "height": _HEIGHT,
        "left": _LEFT - 8,
        "start": _LEFT,
        "bottom": _HEIGHT - _BELOW,
        "below": _HEIGHT - 6,
        "low": format_value(low),
        "high": format_value(high),
        "first": format_value(first),
        "last": format_value(last),
        "over": data["x"]["label"],
        "lines": lines,
        "names": [{"colour": place % 8 + 1, "text": s["label"], "y": 18 + 15 * place} for place, s in enumerate(named)],
    }


def _few(xs: Sequence[float], ys: Sequence[float | None]) -> list[tuple[float, float | None]]:
    """The lowest and the highest of each few points, in their order."""
    points = list(zip(xs, ys, strict=True))
    every = -(-2 * len(points) // _PLAIN_POINTS)
    if every <= 2:
        return points
    found = []
    for start in range(0, len(points), every):
        some = points[start : start + every]
        known = [point for point in some if point[1] is not None] or some[:1]
        ends = {min(known, key=lambda p: p[1] or 0.0), max(known, key=lambda p: p[1] or 0.0)}
        found += sorted(ends, key=lambda p: p[0])
    return found
