"""A plot as data: axes, series of points with their intervals, and what is said of each point; as a table.

Everything in it was found by `findings`; a drawing of it decides nothing. Equal records give equal figures.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Literal

from msgspec import Struct

from logbook_agent.model.header import Metric, metric_named
from logbook_agent.model.record import digest
from logbook_agent.model.units import format_value, known
from logbook_agent.model.values import Scalar
from logbook_agent.text.markdown import csv_cell, cut_line
from logbook_agent.text.phrases import assignments, counted

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


# What XML cannot hold, and what shows nothing or turns the order of other text around.
_UNSHOWN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_BLANKS = re.compile(r"\s+")
_SUFFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"))


def plain(text: str) -> str:
    """Text on one line in which every character is seen and stands where it is read."""
    return _BLANKS.sub(" ", _UNSHOWN.sub("\ufffd", text.replace("\n", " ").replace("\t", " "))).strip()


def cut(text: str, characters: int) -> str:
    """As much of a text as there is room for; the end says more than the middle, which is left out."""
    text = plain(text)
    if len(text) <= characters:
        return text
    end = characters // 3
    return f"{text[: characters - end - 1]}…{text[-end:]}"


def ticks(values: Sequence[float]) -> list[str]:
    """The numbers on an axis, with as many digits as tell them apart: `12.5`, `40,000`, `1.2G`."""
    return [_tick(v, min((abs(v - other) for other in values if other != v), default=0.0)) for v in values]


def _tick(value: float, step: float) -> str:
    size = abs(value)
    if not size:
        return "0"
    needed = math.floor(math.log10(size)) - math.floor(math.log10(step)) + 1 if step else 0
    for least, suffix in _SUFFIXES if needed < 6 else ():
        if size >= least:
            return f"{value / least:,.{max(4, needed)}g}{suffix}" if size < 1e18 else f"{value:.{max(3, needed)}g}"
    return f"{value:,.{max(6, needed)}g}" if size >= 1e-4 else f"{value:.{max(3, needed)}g}"


# A name that is longer says no more to a reader of a legend.
NAME_CHARS = 60
# From this ratio of the largest to the smallest value on, an axis is logarithmic.
_DECADE = 10.0


def name_of(values: Mapping[str, object]) -> str:
    """`topk=2 quant_mode=int8`, cut where it would get too long."""
    return cut_line(assignments(values), NAME_CHARS)


def metric_axis(name: str, declared: Iterable[Metric], unit: str | None, values: Sequence[float]) -> PlotAxis:
    """The axis of a metric, in the unit in which it was measured, else in the declared or usual one."""
    return PlotAxis(
        name=cut_line(name, NAME_CHARS),
        unit=unit or metric_named(name, declared).unit or "",
        log=is_wide(values),
    )


def number_axis(name: str, values: Sequence[float]) -> PlotAxis:
    return PlotAxis(name=cut_line(name, NAME_CHARS), log=is_wide(values))


def is_wide(values: Sequence[float]) -> bool:
    """Whether values are better told apart on a logarithmic axis, which needs all of them to be above zero."""
    return bool(values) and min(values) > 0 and max(values) / min(values) >= _DECADE


def shown(value: float, metric: str = "", unit: str = "", low: float | None = None, high: float | None = None) -> str:
    """`183.2 TF/s [181.0, 185.1]`."""
    decimals = known(metric).decimals
    spread = None if low is None or high is None else high - low
    text = format_value(value, decimals=decimals, spread=spread) + (f" {unit}" if unit else "")
    if low is None or high is None:
        return text
    ends = ", ".join(format_value(end, decimals=decimals, spread=spread) for end in (low, high))
    return f"{text} [{ends}]"


def span_of(counts: Iterable[int], noun: str) -> str:
    """`3 runs`, or `1 to 3 runs` where they differ."""
    found = sorted({*counts})
    if not found:
        return counted(0, noun)
    return counted(found[0], noun) if len(found) == 1 else f"{found[0]:,} to {counted(found[-1], noun)}"


def as_csv(figure: Figure) -> str:
    """A row for each point; what it has no number for is empty."""
    rows: list[tuple[Scalar, ...]] = [("series", "x", "y", "low", "high", "n", "entry")]
    rows += [
        (plain(one.name), plain(p.x) if isinstance(p.x, str) else p.x, p.y, p.low, p.high, p.n, plain(p.entry) or None)
        for one in figure.series
        for p in one.points
    ]
    return "".join(f"{','.join(map(csv_cell, row))}\r\n" for row in rows)
