"""Charts of curves as plain data, each line thinned to what a picture shows: in every bin of points its lowest and its
highest."""

from __future__ import annotations

import itertools
import math
from array import array
from collections.abc import Iterator, Sequence

from msgspec import Struct

from logbook_agent.model.values import finite

# Values that span so much are drawn over their logarithm.
_DECADE = 10.0


class ChartLine(Struct, frozen=True, kw_only=True):
    """One curve: `y` None where a value is not finite."""

    label: str
    entry: str | None
    unit: str | None
    x: tuple[float, ...]
    y: tuple[float | None, ...]

    @classmethod
    def of(
        cls, label: str, entry: str | None, unit: str | None, steps: array[float], values: array[float], most: int
    ) -> ChartLine:
        """The line of these points, with at most so many of them."""
        places = [*thinned(values, most)]
        return cls(
            label=label,
            entry=entry,
            unit=unit,
            x=tuple(steps[place] for place in places),
            y=tuple(finite(values[place]) for place in places),
        )


class CurveChart(Struct, frozen=True, kw_only=True):
    """The curves of one metric over one key. `left_out`: how many more there are."""

    title: str
    over: str
    metric: str
    lines: tuple[ChartLine, ...]
    left_out: int = 0

    @property
    def unit(self) -> str | None:
        """The unit of its values, where all lines have the same."""
        units = {line.unit for line in self.lines}
        return units.pop() if len(units) == 1 else None

    def data(self) -> dict[str, object]:
        """The chart as a page draws it."""
        return {
            "title": self.title,
            "x": {"label": self.over, "unit": None, "log": False},
            "y": {"label": self.metric, "unit": self.unit, "log": self._spans_decades()},
            "series": [
                {
                    "label": line.label,
                    "entry": line.entry,
                    "x": [_short(x, 15) for x in line.x],
                    "y": [None if y is None else _short(y, 6) for y in line.y],
                }
                for line in self.lines
            ],
        }

    def _spans_decades(self) -> bool:
        values = [y for line in self.lines for y in line.y if y is not None]
        return bool(values) and min(values) > 0 and max(values) / min(values) >= _DECADE


def chart_of(key: tuple[str, str], lines: Sequence[ChartLine], left_out: int = 0, *, of: str = "") -> CurveChart:
    """The chart of a metric over a key; `of` names a run."""
    name, over = key
    return CurveChart(
        title=f"{of} {name} over {over}".lstrip(), over=over, metric=name, lines=tuple(lines), left_out=left_out
    )


def thinned(values: array[float], most: int) -> Iterator[int]:
    """The places of at most `most` points, in order, that a picture of all of them needs: the first and the last, and
    in every bin the lowest, the highest, and one that is not finite, which makes a gap."""
    count = len(values)
    if count <= most:
        yield from range(count)
        return
    bins = max(1, (most - 2) // 3)
    edges = [round(i * count / bins) for i in range(bins + 1)]
    shown = {0, count - 1}
    for start, end in itertools.pairwise(edges):
        shown.update(_extremes(values[start:end], start))
    yield from sorted(shown)


def _extremes(values: array[float], start: int) -> Iterator[int]:
    # An infinity or nan shows in the sum; most bins have neither.
    if math.isfinite(sum(values)):
        yield start + values.index(min(values))
        yield start + values.index(max(values))
        return
    places = [place for place, value in enumerate(values) if math.isfinite(value)]
    # The sum of large numbers is an infinity, too.
    yield from [start + place for place, value in enumerate(values) if not math.isfinite(value)][:1]
    if places:
        yield start + min(places, key=values.__getitem__)
        yield start + max(places, key=values.__getitem__)


def _short(value: float, digits: int) -> float | int:
    """The number with as many digits as a picture shows."""
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded
