"""Changes with their intervals as inline SVG: one row each on a common axis around zero. Places are shares of the
width, so that a row is as wide as its place on the page and its marks and words keep their size."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from xml.sax.saxutils import quoteattr

from markupsafe import Markup
from msgspec import Struct

from logbook_agent.report.figures.elements import ValueScale

# In percent of the width: the middle, and how far the axis reaches to each side of it.
_MIDDLE, _HALF = 50.0, 46.0
_HEIGHT = 22
# An interval is cut where it is so many times as long as the largest change.
_CUT = 2.5
# Where changes differ by more than this, the axis is compressed towards its ends.
_WIDE = 8.0
_TICKS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 80.0, 90.0, 99.0, 100.0, 200.0, 400.0, 900.0, 9900.0)
_TICKS_APART, _TICKS_A_SIDE = 15.0, 2
_MOST_LOG = 20.0


class Interval(Struct, frozen=True, kw_only=True):
    """A change with its interval, as fractions of the base; None where there is none. `least` is the minimum effect,
    `outcome` the class of its marks, `said` the text alternative."""

    change: float | None
    low: float | None
    high: float | None
    least: float
    outcome: str
    said: str


def scale_of(rows: Sequence[Interval]) -> ValueScale:
    """The axis of log ratios on which all rows have their place, in percent of the width: every change, and as much of
    the intervals as does not hide them."""
    changes = [abs(_log(row.change)) for row in rows if row.change is not None]
    ends = [abs(_log(end)) for row in rows for end in (row.low, row.high) if end is not None]
    least = max((_log(row.least) for row in rows), default=0.0)
    largest = max([*changes, 2 * least]) or 0.05
    reach = 1.1 * max(largest, min(max(ends, default=0.0), _CUT * largest))
    middle = sorted(max(change, least) for change in changes)[len(changes) // 2] if changes else 0.0
    smallest = max(min(changes, default=0.0), least)
    is_wide = middle > 0 and smallest > 0 and reach > _WIDE * smallest
    return ValueScale(-reach, reach, bend=smallest if is_wide else 0.0, start=_MIDDLE - _HALF, end=_MIDDLE + _HALF)


def row_svg(row: Interval, scale: ValueScale) -> Markup:
    """One row: the band of the minimum effect, the line of no change, the interval and the change."""
    parts = [_band(row, scale), _line(_MIDDLE, _MIDDLE, "zero", (0, _HEIGHT))]
    middle = _HEIGHT / 2
    if row.low is not None and row.high is not None:
        low, high = _log(row.low), _log(row.high)
        parts.append(_line(scale.place(low), scale.place(high), "reach", (middle, middle)))
        parts += [_arrow(scale.place(end), end) for end in (low, high) if not scale.has(end)]
    if row.change is not None:
        parts.append(f'<circle cx="{scale.place(_log(row.change)):.2f}%" cy="{middle:g}" r="4.5"/>')
    head = f'<svg class="interval {row.outcome}" role="img" aria-label={quoteattr(row.said)} height="{_HEIGHT}">'
    return Markup(f"{head}{''.join(parts)}</svg>")  # noqa: S704 - numbers, and texts that are escaped here


def axis_svg(scale: ValueScale) -> Markup:
    """The axis below the rows, with the changes that its places stand for."""
    words = [
        f'<text x="{place:.2f}%" y="12" text-anchor="middle">{text}</text>' for place, text in sorted(_ticks(scale))
    ]
    return Markup(f'<svg class="interval axis" aria-hidden="true" height="16">{"".join(words)}</svg>')  # noqa: S704


def _ticks(scale: ValueScale) -> Iterable[tuple[float, str]]:
    found = [(_MIDDLE, "0")]
    for sign in (-1, 1):
        taken = [_MIDDLE]
        for percent in reversed(_TICKS):
            if (sign < 0 and percent >= 100) or len(taken) > _TICKS_A_SIDE:
                continue
            ratio = math.log1p(sign * percent / 100)
            place = scale.place(ratio)
            if scale.has(ratio) and all(abs(place - other) >= _TICKS_APART for other in taken):
                taken.append(place)
                found.append((place, f"{sign * percent:+g}%"))
    return found


def _log(change: float | None) -> float:
    """The log ratio of a change, within what can be drawn."""
    if change is None or change <= -1:
        return -_MOST_LOG if change is not None else 0.0
    return min(math.log1p(change), _MOST_LOG)


def _band(row: Interval, scale: ValueScale) -> str:
    reach = _log(row.least)
    low, high = scale.place(-reach), scale.place(reach)
    return f'<rect class="least" x="{low:.2f}%" width="{high - low:.2f}%" y="0" height="{_HEIGHT}"/>' if reach else ""


def _line(start: float, end: float, name: str, heights: tuple[float, float]) -> str:
    return f'<line class="{name}" x1="{start:.2f}%" x2="{end:.2f}%" y1="{heights[0]:g}" y2="{heights[1]:g}"/>'


def _arrow(place: float, end: float) -> str:
    """The sign that an interval goes on beyond the axis."""
    path = "M0 7 L7 11 L0 15 Z" if end > 0 else "M0 7 L-7 11 L0 15 Z"
    return f'<svg class="more" x="{place:.2f}%" overflow="visible"><path d="{path}"/></svg>'
