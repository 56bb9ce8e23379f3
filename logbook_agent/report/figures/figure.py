"""A plot as data: axes, series of points with their intervals, and what is said of each point.

Everything in it was found by `findings`; a drawing of it decides nothing. Equal records give equal figures.
"""

from __future__ import annotations

import math
import re
from enum import StrEnum
from typing import Literal

from msgspec import Struct

from logbook_agent.model.record import digest

_NOT_IN_KEYS = re.compile(r"[^a-z0-9]+")
_KEY_CHARS = 60
# How a series is drawn. `line`: points joined in their order; `points`: not joined; `steps`: a value holds until the
# next point; `curve`: a line without marks; `band`: the range of its first point, along the whole plot; `rule`: the
# level of its first point, such as no change.
Shape = Literal["line", "points", "steps", "curve", "band", "rule"]


class FigureKind(StrEnum):
    """The kinds of figures, as `logbook plot --kind` names them."""

    SWEEP = "sweep"
    PAIRS = "pairs"
    CROSSOVER = "crossover"
    NOISE = "noise"
    BEST = "best"
    FOREST = "forest"


class PlotPoint(Struct, frozen=True, kw_only=True):
    """One mark. `x` is a number, or on an axis of names a name. `low` and `high` bound the interval that the note of
    the figure names; None without one. `n`: how many runs (or what the note counts) stand behind it. `said`: one line
    that says all this of the point. `entry`: the ID of the entry that it is of."""

    x: float | str
    y: float
    low: float | None = None
    high: float | None = None
    n: int = 1
    said: str = ""
    entry: str = ""


class PlotSeries(Struct, frozen=True, kw_only=True):
    """`beside`: it is there for others to be held against, a control, a base or a bound: drawn hollow and dashed."""

    name: str
    shape: Shape
    points: tuple[PlotPoint, ...]
    beside: bool = False

    @property
    def drawable(self) -> tuple[PlotPoint, ...]:
        """The points that the axes have a place for: finite numbers that are not beyond all measure."""
        return tuple(p for p in self.points if all(isinstance(v, str) or _is_plain(v) for v in (p.x, p.y)))


class PlotAxis(Struct, frozen=True, kw_only=True):
    """`unit` is empty where there is none. `bend`: from this distance to zero on, the axis is logarithmic. `names`: the
    points lie at names, in the order of their first mention."""

    name: str
    unit: str = ""
    log: bool = False
    bend: float = 0.0
    names: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"{self.name} ({self.unit})" if self.unit else self.name


class Figure(Struct, frozen=True, kw_only=True):
    """One plot. `key` names files and anchors (`moe-i8-003-sweep-tflops`: only lower-case letters, digits and `-`) and
    does not change while the entry stays. `note` states n, what the intervals are and what is left out. `entries`: the
    IDs whose data it shows. `entry`: the one that it belongs to; None for a figure of the whole thread."""

    key: str
    kind: FigureKind
    title: str
    x: PlotAxis
    y: PlotAxis
    series: tuple[PlotSeries, ...]
    note: str
    entries: tuple[str, ...]
    entry: str | None = None

    @property
    def digest(self) -> str:
        """Equal for equal data, however they are worded. The picture contains it, which tells a picture of earlier
        data."""
        points = [[p.x, p.y, p.low, p.high, p.n, p.entry] for series in self.series for p in series.points]
        return digest(self.key, self.kind, self.x.unit, self.y.unit, points)


def key(*parts: str) -> str:
    """`moe-i8-003-sweep-tflops`: for names of files and anchors."""
    slugs = [_NOT_IN_KEYS.sub("-", part.lower()).strip("-")[:_KEY_CHARS].strip("-") for part in parts]
    return "-".join(slug for slug in slugs if slug) or "figure"


# -- what an axis has a place for ------------------------------------------------------------------------------

# Beyond these, limits of an axis are no numbers any more.
LARGEST, SMALLEST = 1e200, 1e-200


def _is_plain(value: float | None) -> bool:
    return value is not None and math.isfinite(value) and (value == 0 or SMALLEST <= abs(value) <= LARGEST)


def interval_of(point: PlotPoint) -> tuple[float, float] | None:
    if point.low is None or point.high is None or not (_is_plain(point.low) and _is_plain(point.high)):
        return None
    return point.low, point.high
