"""The axes of a figure with what stands between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from xml.sax.saxutils import escape, quoteattr

from logbook_agent.report.figures.elements import (
    TEXT,
    Look,
    band,
    fitting,
    group,
    marker,
    path,
    room_for,
    text,
    width_of,
)
from logbook_agent.report.figures.figure import Figure, PlotPoint, PlotSeries, interval_of
from logbook_agent.report.figures.figure_words import cut, plain, ticks
from logbook_agent.report.figures.scale import ValueScale, round_values, scale_of

MARGIN = 10.0
_HEIGHT, _ROW, _TALL_ROW = 230.0, 24.0, 38.0
# Names on a vertical axis take a row each, within this height; where the longest is longer than this share of the
# width, each stands above its row.
_ROWS_HEIGHT, _NAMES_SHARE = 960.0, 0.36
_NAME_CHARS = 24
_GAP = 8.0
# From so many points on, marks are small; from so many on, a series is one mark, which keeps a page small.
_MANY, _VERY_MANY = 60, 200


class PlotArea:
    """`turned`: names of cases stand on the vertical axis, and values go along the horizontal one."""

    def __init__(
        self, figure: Figure, series: Sequence[PlotSeries], looks: Sequence[Look], width: float, top: float
    ) -> None:
        self.figure, self.series, self.looks = figure, series, looks
        self.names = {name: at for at, name in enumerate(figure.x.names)}
        self.points = [point for one in series for point in one.drawable]
        self.turned = bool(self.names) and all(one.shape in ("points", "rule", "band") for one in series)
        ends = [end for point in self.points for end in interval_of(point) or ()]
        y = scale_of([point.y for point in self.points], figure.y, ends)
        places = [self.place_of(point) for point in self.points]
        x = ValueScale(-0.5, len(self.names) - 0.5) if self.names else scale_of(places, figure.x)
        longest = max((width_of(plain(name)) for name in self.names), default=0.0)
        rows = len(self.names)
        self.above = self.turned and longest > _NAMES_SHARE * width and rows * _TALL_ROW <= _ROWS_HEIGHT
        self.right = width - MARGIN - 4
        if self.turned:
            self.top = top + 4
            self.left = MARGIN if self.above else MARGIN + _GAP + min(longest, _NAMES_SHARE * width)
            self.bottom = self.top + min(rows * (_TALL_ROW if self.above else _ROW), _ROWS_HEIGHT)
            self.x, self.y = x.between(self.top, self.bottom), y.between(self.left + 8, self.right - 8)
        else:
            self.top = top + 18
            self.bottom = self.top + _HEIGHT
            self.y = y.between(self.bottom, self.top)
            self.left = MARGIN + _GAP + max(map(width_of, ticks(round_values(y, 6))), default=0.0)
            self.x = x.between(self.left + 10, self.right - 6)

    def place_of(self, point: PlotPoint) -> float:
        return float(self.names.get(point.x, 0)) if isinstance(point.x, str) else float(point.x)

    def drawn(self) -> tuple[list[str], float]:
        """The parts, from the ground up, and where they end."""
        parts = [
            (one.shape not in ("band", "rule"), group(look.ink, "".join(self._series(one, look, shift))))
            for one, look, shift in zip(self.series, self.looks, self._shifts(), strict=True)
        ]
        parts.sort(key=lambda part: part[0])
        # Names stand over lines that cross them.
        axes, names = [*self._value_axis()], [*(self._names() if self.turned else self._place_axis())]
        label = cut((self.figure.y if self.turned else self.figure.x).label, room_for(self.right - MARGIN))
        middle = self._inside((self.left + self.right) / 2, width_of(label))
        below = text(label, middle, self.bottom + 34, anchor="middle", kind="name")
        return [*axes, *(part for _, part in parts), *names, below], self.bottom + 40

    # -- axes ------------------------------------------------------------------------------------------

    def _value_axis(self) -> Iterator[str]:
        """A line of the grid at each round value, with its number: fewer where not all fit; on an uneven axis
        those that do."""
        values = round_values(self.y, 6)
        words = ticks(values)
        if not self.turned:
            places = [self.y.place(value) for value in values]
            for at in fitting([(place, float(TEXT)) for place in places], 2):
                yield path(f"M{self.left:.1f} {places[at]:.1f}H{self.right:.1f}", kind="grid")
                yield text(words[at], self.left - 6, places[at] + 4, anchor="end")
            name = cut(self.figure.y.label, room_for(self.right - MARGIN))
            yield text(name, MARGIN, self.top - 9, kind="name")
            return
        for most in (6,) if self.y.log or self.y.bend else (6, 4, 3, 2):
            values = round_values(self.y, most)
            words = ticks(values)
            lengths = [*map(width_of, words)]
            middles = [self._inside(self.y.place(value), length) for value, length in zip(values, lengths, strict=True)]
            if len(kept := fitting(zip(middles, lengths, strict=True), _GAP)) == len(values):
                break
        for at in kept:
            yield path(f"M{self.y.place(values[at]):.1f} {self.top:.1f}V{self.bottom:.1f}", kind="grid")
            yield text(words[at], middles[at], self.bottom + 16, anchor="middle")

    def _place_axis(self) -> Iterator[str]:
        """Names, or the values of the marks where these are few, or round values; each n-th where not all fit."""
        marks = [point for one in self.series if one.shape in ("line", "points") for point in one.drawable]
        values = sorted({self.place_of(point) for point in marks or self.points})
        if not self.names and (len(values) > 12 or len(fitting(self._labels(values), _GAP)) < len(values)):
            whole = all(value.is_integer() for value in values)
            least = values[0] if whole else self.x.low
            values = [value for value in round_values(self.x, 7, whole=whole) if value >= least]
        labels = self._labels(values)
        every = next(n for n in range(1, len(labels) + 2) if _fit(labels[::n]))
        for value, word, (middle, _) in list(zip(values, self._words(values), labels, strict=True))[::every]:
            yield path(f"M{self.x.place(value):.1f} {self.bottom:.1f}v4", kind="axis")
            yield text(word, middle, self.bottom + 17, anchor="middle")
        yield path(f"M{self.left:.1f} {self.bottom:.1f}H{self.right:.1f}", kind="axis")

    def _words(self, values: Sequence[float]) -> list[str]:
        names = self.figure.x.names
        return [cut(names[int(value)], _NAME_CHARS) for value in values] if names else ticks(values)

    def _labels(self, values: Sequence[float]) -> list[tuple[float, float]]:
        """The middle and the length of each, within the picture."""
        lengths = [*map(width_of, self._words(values))]
        return [(self._inside(self.x.place(v), length), length) for v, length in zip(values, lengths, strict=True)]

    def _inside(self, middle: float, length: float) -> float:
        return max(MARGIN + length / 2, min(middle, self.right + 4 - length / 2))

    def _names(self) -> Iterator[str]:
        room = room_for((self.right if self.above else self.left - _GAP) - MARGIN)
        rows = [self.x.place(at) for at in range(len(self.names))]
        for at in fitting([(row, float(TEXT)) for row in rows], 1):
            name = cut(self.figure.x.names[at], room)
            if self.above:
                yield text(name, self.left, rows[at] - 8, kind="over")
            else:
                yield text(name, self.left - _GAP, rows[at] + 4, anchor="end")

    # -- marks -----------------------------------------------------------------------------------------

    def _shifts(self) -> list[float]:
        """By how much marks of several curves at one place are moved apart: all of them together by less than half of
        the way to the next place, so that none is read as one of that."""
        curves = [n for n, one in enumerate(self.series) if one.shape in ("line", "points")]
        places = [self.place_of(point) for n in curves for point in self.series[n].drawable]
        found = [0.0] * len(self.series)
        if len(curves) > 1 and len({*places}) < len(places):
            ways = [abs(b - a) for a, b in pairwise(self.x.place(value) for value in sorted({*places}))]
            step = min([5.0, 22 / len(curves), *(way / 2 / (len(curves) - 1) for way in ways)])
            for at, n in enumerate(curves):
                found[n] = (at - (len(curves) - 1) / 2) * step
        return found

    def _spot(self, point: PlotPoint, shift: float) -> tuple[float, float]:
        """Left and down."""
        along, level = self.x.place(self.place_of(point)) + shift, self.y.place(point.y)
        if self.turned:
            return level, along + (5 if self.above else 0)
        return along, level

    def _series(self, one: PlotSeries, look: Look, shift: float) -> Iterator[str]:
        points = one.drawable
        if one.shape in ("band", "rule"):
            yield self._mark(points[0], self._across(one, points[0], look))
            return
        if one.shape == "curve":
            yield self._mark(points[0], path(self._curve(one), look.dashes))
            return
        spots = [self._spot(point, shift) for point in points]
        first = f"M{spots[0][0]:.1f} {spots[0][1]:.1f}"
        if one.shape == "line" and len(spots) > 1:
            yield path(first + "".join(f"L{left:.1f} {down:.1f}" for left, down in spots[1:]), look.dashes)
        elif one.shape == "steps":
            yield path(first + "".join(f"H{left:.1f}V{down:.1f}" for left, down in spots[1:]), look.dashes)
        if len(points) > _VERY_MANY:
            dots = "".join(f"M{left:.0f} {down:.0f}h0" for left, down in spots)
            yield f'<g class="mark"><title>{escape(plain(one.name))}</title>{path(dots, kind="dots")}</g>'
            return
        for point, (left, down) in zip(points, spots, strict=True):
            shape = marker(look, left, down, hollow=one.beside, small=len(points) > _MANY)
            yield self._mark(point, self._interval(point, left, down) + shape)

    def _curve(self, one: PlotSeries) -> str:
        data, known = "", {*map(id, one.drawable)}
        for before, point in zip((None, *one.points), one.points, strict=False):
            if id(point) in known:
                left, down = self._spot(point, 0.0)
                data += f"{'L' if id(before) in known else 'M'}{left:.1f} {down:.1f}"
        return data

    def _mark(self, point: PlotPoint, content: str) -> str:
        content = f"<title>{escape(plain(point.said))}</title>{content}"
        if not point.entry:
            return f'<g class="mark">{content}</g>'
        # Marks of an entry's own figure lead to where the reader is: the Tab key passes them by.
        passed = ' tabindex="-1"' if self.figure.entry is not None else ""
        href = quoteattr(f"#{plain(point.entry)}")
        return f'<a class="mark" href={href}{passed}>{content}</a>'

    def _interval(self, point: PlotPoint, left: float, down: float) -> str:
        """A line with caps; without one where it goes on beyond the axis."""
        data = ""
        for end in interval_of(point) or ():
            level, cap = self.y.place(end), 4 if self.y.has(end) else 0
            if self.turned:
                data += f"M{left:.1f} {down:.1f}H{level:.1f}m0-{cap}v{2 * cap}"
            else:
                data += f"M{left:.1f} {down:.1f}V{level:.1f}m-{cap} 0h{2 * cap}"
        return path(data) if data else ""

    def _across(self, one: PlotSeries, point: PlotPoint, look: Look) -> str:
        """A level or a range, from one end of the plot to the other."""
        low, high = sorted(map(self.y.place, interval_of(point) or (point.y, point.y)))
        if one.shape == "band" and self.turned:
            return band(low, self.top, high - low, self.bottom - self.top)
        if one.shape == "band":
            return band(self.left, low, self.right - self.left, high - low)
        level = self.y.place(point.y)
        if self.turned:
            return path(f"M{level:.1f} {self.top:.1f}V{self.bottom:.1f}", look.dashes)
        return path(f"M{self.left:.1f} {level:.1f}H{self.right:.1f}", look.dashes)


def _fit(labels: Sequence[tuple[float, float]]) -> bool:
    return len(fitting(labels, _GAP)) == len(labels)
