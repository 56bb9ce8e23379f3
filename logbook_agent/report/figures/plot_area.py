"""The axes of a figure with what stands between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from xml.sax.saxutils import escape, quoteattr

from logbook_agent.report.figures.elements import (
    TEXT,
    Look,
    ValueScale,
    fitting,
    group,
    marker,
    path,
    px,
    room_for,
    round_values,
    scale_of,
    text,
    width_of,
)
from logbook_agent.report.figures.figure import Figure, PlotPoint, PlotSeries, cut, interval_of, plain, ticks

MARGIN = 10.0
_HEIGHT, _ROW, _TALL_ROW = 230.0, 24.0, 38.0
# Names on a vertical axis take a row each, within this height; where the longest is longer than this share of the
# width, each stands above its row.
_ROWS_HEIGHT, _NAMES_SHARE = 960.0, 0.36
_NAME_CHARS = 24
_GAP, _CAP = 8.0, 4.0
# From so many points on, marks are small; from so many on, none is hit alone, and a series is one mark.
_MANY, _VERY_MANY = 60, 120


class PlotArea:
    """A point has a place along the axis of cases and a level along that of values, both in pixels. `turned`: the
    cases, which have names, go down the picture, and the values across it."""

    def __init__(
        self, figure: Figure, series: Sequence[PlotSeries], looks: Sequence[Look], width: float, top: float
    ) -> None:
        self.figure, self.series, self.looks = figure, series, looks
        self.names = {name: float(at) for at, name in enumerate(figure.x.names)}
        self.points = [point for one in series for point in one.drawable]
        self.turned = bool(self.names) and all(one.shape in ("points", "rule", "band") for one in series)
        ends = [end for point in self.points for end in interval_of(point) or ()]
        levels = scale_of([point.y for point in self.points], figure.y, ends)
        along = [*map(self._along, self.points)]
        places = ValueScale(-0.5, len(self.names) - 0.5) if self.names else scale_of(along, figure.x)
        self.right, self.above = width - MARGIN - 4, False
        if self.turned:
            rows, longest = len(self.names), max(width_of(plain(name)) for name in self.names)
            self.above = longest > _NAMES_SHARE * width and rows * _TALL_ROW <= _ROWS_HEIGHT
            self.top, self.left = top + 4, MARGIN + (0 if self.above else _GAP + min(longest, _NAMES_SHARE * width))
            self.bottom = self.top + min(rows * (_TALL_ROW if self.above else _ROW), _ROWS_HEIGHT)
            self.places = places.between(self.top, self.bottom)
            self.levels = levels.between(self.left + 8, self.right - 8)
            self.ends = self.top, self.bottom
        else:
            self.top, self.bottom = top + 18, top + 18 + _HEIGHT
            self.levels = levels.between(self.bottom, self.top)
            self.left = MARGIN + _GAP + max(map(width_of, ticks(round_values(levels, 6))), default=0.0)
            self.places = places.between(self.left + 10, self.right - 6)
            self.ends = self.left, self.right

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

    def _along(self, point: PlotPoint) -> float:
        return self.names.get(point.x, 0.0) if isinstance(point.x, str) else float(point.x)

    def _at(self, place: float, level: float) -> str:
        left, down = (level, place) if self.turned else (place, level)
        return f"{px(left)} {px(down)}"

    def _across(self, level: float) -> str:
        """A line at a level, from one end of the plot to the other."""
        return f"M{self._at(self.ends[0], level)}L{self._at(self.ends[1], level)}"

    def _inside(self, middle: float, length: float) -> float:
        """The middle of a label of this length that stays within the picture."""
        return max(MARGIN + length / 2, min(middle, self.right + 4 - length / 2))

    # -- axes ------------------------------------------------------------------------------------------

    def _value_axis(self) -> Iterator[str]:
        """A line of the grid at each round value, with its number: fewer where not all fit; on an uneven axis
        those that do."""
        for most in (6, 4, 3, 2):
            values = round_values(self.levels, most)
            words, levels = ticks(values), [*map(self.levels.place, values)]
            lengths = [width_of(word) if self.turned else TEXT for word in words]
            labels = [
                (self._inside(level, length) if self.turned else level, length)
                for level, length in zip(levels, lengths, strict=True)
            ]
            kept = fitting(labels, _GAP if self.turned else 2)
            if len(kept) == len(values) or self.levels.is_uneven:
                break
        yield path("".join(self._across(levels[at]) for at in kept), kind="grid")
        for at in kept:
            if self.turned:
                yield text(words[at], labels[at][0], self.bottom + 16, anchor="middle")
            else:
                yield text(words[at], self.left - 6, levels[at] + 4, anchor="end")
        if not self.turned:
            yield text(cut(self.figure.y.label, room_for(self.right - MARGIN)), MARGIN, self.top - 9, kind="name")

    def _place_axis(self) -> Iterator[str]:
        """Names, or the values of the marks where these are few, or round values; each n-th where not all fit."""
        marks = [point for one in self.series if one.shape in ("line", "points") for point in one.drawable]
        values = sorted({*map(self._along, marks or self.points)})
        if not self.names and (len(values) > 12 or not _fit(self._labels(values))):
            whole = all(value.is_integer() for value in values)
            least = values[0] if whole else self.places.low
            values = [value for value in round_values(self.places, 7, whole=whole) if value >= least]
        labels = self._labels(values)
        every = next(n for n in range(1, len(labels) + 2) if _fit(labels[::n]))
        for (middle, _), word in [*zip(labels, self._words(values), strict=True)][::every]:
            yield text(word, middle, self.bottom + 17, anchor="middle")
        bottom = px(self.bottom)
        ticks_below = "".join(f"M{px(self.places.place(value))} {bottom}v4" for value in values[::every])
        yield path(f"M{px(self.left)} {bottom}H{px(self.right)}{ticks_below}", kind="axis")

    def _words(self, values: Sequence[float]) -> list[str]:
        names = self.figure.x.names
        return [cut(names[int(value)], _NAME_CHARS) for value in values] if names else ticks(values)

    def _labels(self, values: Sequence[float]) -> list[tuple[float, float]]:
        """The middle and the length of each, within the picture."""
        lengths = [*map(width_of, self._words(values))]
        return [(self._inside(self.places.place(v), length), length) for v, length in zip(values, lengths, strict=True)]

    def _names(self) -> Iterator[str]:
        room = room_for((self.right if self.above else self.left - _GAP) - MARGIN)
        rows = [*map(self.places.place, self.names.values())]
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
        along = [self._along(point) for n in curves for point in self.series[n].drawable]
        found = [0.0] * len(self.series)
        if len(curves) > 1 and len({*along}) < len(along):
            ways = [abs(b - a) for a, b in pairwise(map(self.places.place, sorted({*along})))]
            step = min([5.0, 22 / len(curves), *(way / 2 / (len(curves) - 1) for way in ways)])
            for at, n in enumerate(curves):
                found[n] = (at - (len(curves) - 1) / 2) * step
        return found

    def _series(self, one: PlotSeries, look: Look, shift: float) -> Iterator[str]:
        points = one.drawable
        # Names above their rows push the marks down.
        below = shift + (5 if self.above else 0)
        spots = [(self.places.place(self._along(point)) + below, self.levels.place(point.y)) for point in points]
        places = [self._at(*spot) for spot in spots]
        if one.shape == "rule":
            yield self._mark(points[0], path(self._across(spots[0][1]), look.dashes))
            return
        if one.shape == "band":
            yield self._mark(points[0], self._band(*(interval_of(points[0]) or (points[0].y, points[0].y))))
            return
        if one.shape == "curve":
            line = self._curve(one, dict(zip(map(id, points), places, strict=True)))
            yield self._mark(points[0], path(line, look.dashes))
            return
        if one.shape == "steps":
            steps = "".join(f"H{px(place)}V{px(level)}" for place, level in spots[1:])
            yield path(f"M{places[0]}{steps}", look.dashes)
        elif one.shape == "line" and len(spots) > 1:
            yield path(f"M{'L'.join(places)}", look.dashes)
        if len(points) > _VERY_MANY:
            dots = path("".join(f"M{place}h0" for place in places), kind="dots")
            yield f'<g class="mark"><title>{escape(plain(one.name))}</title>{dots}</g>'
            return
        for point, spot, place in zip(points, spots, places, strict=True):
            shape = marker(look, place, hollow=one.beside, small=len(points) > _MANY)
            yield self._mark(point, self._interval(point, *spot) + shape)

    def _band(self, low: float, high: float) -> str:
        """A range of values, from one end of the plot to the other."""
        (start, end), levels = self.ends, [self.levels.place(low), self.levels.place(high)]
        corners = [
            self._at(place, level) for place, level in zip((start, end, end, start), sorted(levels * 2), strict=True)
        ]
        return path(f"M{'L'.join(corners)}z", kind="band")

    def _curve(self, one: PlotSeries, places: dict[int, str]) -> str:
        """A line through the points that have a place, with a gap at the others."""
        pieces = ""
        for before, point in zip((None, *one.points), one.points, strict=False):
            if id(point) in places:
                pieces += f"{'L' if id(before) in places else 'M'}{places[id(point)]}"
        return pieces

    def _mark(self, point: PlotPoint, content: str) -> str:
        content = f"<title>{escape(plain(point.said))}</title>{content}"
        if not point.entry:
            return f'<g class="mark">{content}</g>'
        # Marks of an entry's own figure lead to where the reader is: the Tab key passes them by.
        passed = ' tabindex="-1"' if self.figure.entry is not None else ""
        return f'<a class="mark" href={quoteattr(f"#{plain(point.entry)}")}{passed}>{content}</a>'

    def _interval(self, point: PlotPoint, place: float, level: float) -> str:
        """A line with caps; without one where it goes on beyond the axis."""
        data = ""
        for end in interval_of(point) or ():
            at = self.levels.place(end)
            data += f"M{self._at(place, level)}L{self._at(place, at)}"
            if self.levels.has(end):
                data += f"M{self._at(place - _CAP, at)}L{self._at(place + _CAP, at)}"
        return path(data) if data else ""


def _fit(labels: Sequence[tuple[float, float]]) -> bool:
    return len(fitting(labels, _GAP)) == len(labels)
