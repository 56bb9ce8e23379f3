"""A chart as a value, and the JSON that `assets/charts.js` draws in a page."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

# `lines`: points joined in the order of x, without marks, such as curves. `marks`: a mark for each point, with its
# interval where it has one.
ChartKind = Literal["lines", "marks"]
# How one series differs from the kind of its chart: `line` has marks that are joined, `steps` holds a value until the
# next point.
ChartShape = Literal["line", "points", "steps"]
Numbers = tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartAxis:
    """`ticks`: the names of the values 0, 1, 2... of an ordinal axis; None for an axis of numbers."""

    label: str
    unit: str | None = None
    log: bool = False
    ticks: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartSeries:
    """Points of equal number in every field that is not None. `low` and `high` are the ends of their intervals, `text`
    says what a point is, `href` is where a click on it leads: `#MOE-I8-003`. `entry`: the entry that all points are
    of. `beside`: it is there for others to be held against, and drawn hollow and dashed."""

    label: str
    x: tuple[float, ...]
    y: Numbers
    entry: str | None = None
    low: Numbers | None = None
    high: Numbers | None = None
    text: tuple[str, ...] | None = None
    href: tuple[str | None, ...] | None = None
    shape: ChartShape | None = None
    beside: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartBand:
    """A range of y across the whole chart; a line where `low` equals `high`."""

    low: float
    high: float
    label: str
    beside: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    kind: ChartKind
    title: str
    x: ChartAxis
    y: ChartAxis
    series: tuple[ChartSeries, ...]
    bands: tuple[ChartBand, ...] = ()


def chart_json(chart: Chart) -> str:
    """The chart as JSON; numbers that are not finite are null, fields that are None or False are left out."""
    data = {
        "kind": chart.kind,
        "title": chart.title,
        "x": _stated(asdict(chart.x)),
        "y": _stated(asdict(chart.y)),
        "series": [_series(one) for one in chart.series],
        "bands": [
            _stated({"from": b.low, "to": b.high, "label": b.label, "beside": b.beside})
            for b in chart.bands
            if math.isfinite(b.low) and math.isfinite(b.high)
        ],
    }
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _series(one: ChartSeries) -> dict[str, object]:
    fields = {name: getattr(one, name) for name in ("label", "entry", "text", "href", "shape", "beside")}
    numbers = {name: _numbers(getattr(one, name)) for name in ("x", "y", "low", "high")}
    return _stated(fields | numbers)


def _stated(fields: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value is not None and value is not False}


def _numbers(values: Sequence[float | None] | None) -> list[float | None] | None:
    return None if values is None else [v if v is not None and math.isfinite(v) else None for v in values]
