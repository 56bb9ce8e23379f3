"""Where the parts of a picture lie, in inches, from what they hold: so no text runs over another, however long it is.

Widths of text are counted, not measured: the reader's font is not known, and the widest of the usual ones is counted
on.
"""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import Any

from logbook_agent.report.figures.figure import Figure, PlotSeries
from logbook_agent.report.figures.figure_words import cut, plain, tick

WIDTH = 8.0
_RIGHT = 0.25
TITLE_PT, TEXT_PT, SMALL_PT = 11.0, 9.0, 8.0
# The mean width of a character over the size of the font: DejaVu Sans, in lower case and digits.
_WIDE = 0.58
_BOLD = 0.6
_LINE = 1.35
_TITLE_LINES, _NOTE_LINES = 3, 6
# So many names in a legend; the others are counted.
LEGEND_MOST = 12
_NAME_CHARS = 44
# Names along an axis take a line of their own each, up to this height; then not all of them are written.
_ROW, _ROWS_MOST = 0.26, 11.0
_TICK_CHARS = 60
_SLANTED_CHARS = 30
# From so long a name on, all are written smaller.
_LONG_TICK = 28


def _inches(characters: float, points: float, share: float = _WIDE) -> float:
    return characters * points * share / 72


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """`box`: left, bottom, width and height of the axes. `turned`: names stand on the vertical axis. `titles`, `notes`:
    lines. `legend`: names of the series that it shows, in `columns`, and how many it does not. `ticks`: the names on an
    axis that are written, by their place; `slanted` where they would not fit side by side."""

    height: float
    box: tuple[float, float, float, float]
    turned: bool
    titles: tuple[str, ...]
    notes: tuple[str, ...]
    legend: tuple[tuple[int, str], ...]
    columns: int
    legend_top: float
    more: int
    ticks: tuple[tuple[int, str], ...]
    slanted: bool
    tick_pt: float


def lay_out(figure: Figure) -> Placement:
    names = figure.x.names
    turned = bool(names) and all(series.shape in ("points", "rule", "band") for series in figure.series)
    titles = _lines(plain(figure.title), _inches(1, TITLE_PT, _BOLD), _TITLE_LINES)
    notes = _lines(plain(figure.note), _inches(1, SMALL_PT), _NOTE_LINES)
    legend, more = _legend(figure.series)
    longest = max((len(name) for _, name in legend), default=0)
    columns = max(1, min(len(legend) or 1, int((WIDTH - 0.4) / (0.55 + _inches(longest, TEXT_PT)))))
    rows = math.ceil((len(legend) + bool(more)) / columns)
    shown = [cut(name, _TICK_CHARS) for name in names]
    longest_tick = max(map(len, shown), default=0)
    tick_pt = SMALL_PT if longest_tick > _LONG_TICK else TEXT_PT
    left, below, height = 0.95, 0.5, 3.1
    slanted = False
    if turned:
        left = min(4.2, max(0.95, 0.4 + _inches(longest_tick, tick_pt)))
        height = min(_ROWS_MOST, max(1.1, _ROW * len(names) + 0.2))
        ticks = _written(shown, int(height / 0.17))
    else:
        room = WIDTH - left - _RIGHT
        shown = [cut(name, _SLANTED_CHARS) for name in names]
        longest_tick = max(map(len, shown), default=0)
        slanted = _inches(longest_tick + 2, tick_pt) * len(shown) > room
        ticks = _written(shown, int(room / (0.24 if slanted else 0.01)))
        below += _inches(longest_tick, tick_pt) * 0.6 if slanted else 0.0
    above = 0.12 + TITLE_PT * _LINE / 72 * len(titles) + 0.08
    legend_top = above
    above += TEXT_PT * 1.65 / 72 * rows + (0.12 if rows else 0.0)
    under = below + SMALL_PT * _LINE / 72 * len(notes) + 0.12
    total = above + height + under
    return Placement(
        height=total,
        box=(left, under, WIDTH - left - _RIGHT, height),
        turned=turned,
        titles=titles,
        notes=notes,
        legend=legend,
        columns=columns,
        legend_top=legend_top,
        more=more,
        ticks=ticks,
        slanted=slanted,
        tick_pt=tick_pt,
    )


def _lines(text: str, width: float, most: int) -> tuple[str, ...]:
    """A text in as many lines; what does not fit ends in `…`."""
    lines = textwrap.wrap(text, max(20, int((WIDTH - 0.4) / width)), break_on_hyphens=False)
    if len(lines) > most:
        lines = [*lines[: most - 1], f"{lines[most - 1].rstrip()[:-1]}…"]
    return tuple(lines)


def _legend(series: tuple[PlotSeries, ...]) -> tuple[tuple[tuple[int, str], ...], int]:
    """The places and names of the series in a legend, curves first, and how many more there are. A single one without
    anything beside it needs no name: the axis has it."""
    if len(series) < 2:
        return (), 0
    order = sorted(range(len(series)), key=lambda at: series[at].shape in ("band", "rule"))
    named = [(at, cut(series[at].name, _NAME_CHARS)) for at in order if series[at].points]
    return tuple(named[:LEGEND_MOST]), max(0, len(named) - LEGEND_MOST)


def _written(names: list[str], room: int) -> tuple[tuple[int, str], ...]:
    """Every name, or each second, third, ... where there is no room for all."""
    step = max(1, math.ceil(len(names) / max(room, 1)))
    return tuple((at, name) for at, name in enumerate(names) if at % step == 0)


def around(values: list[float], *, log: bool, share: float) -> tuple[float, float]:
    """Limits with some room on both sides."""
    low, high = min(values), max(values)
    if log:
        room = max((high / low) ** share, 1.08)
        return low / room, high * room
    room = share * (high - low) or max(abs(high) * 0.1, 0.5 if high == int(high) else 1e-12)
    return low - room, high + room


def whole(low: float, high: float) -> list[float]:
    """Some 10 round whole numbers from the lowest to the highest value, and none outside: there is no run 0."""
    least = (high - low) / 11
    power = 10 ** math.floor(math.log10(max(least, 1.0)))
    step = next(power * share for share in (1, 2, 5, 10) if power * share >= least)
    return [step * number for number in range(math.ceil(low / step), math.floor(high / step) + 1)]


def formatter() -> Any:
    from matplotlib.ticker import FuncFormatter

    return FuncFormatter(lambda value, _: tick(value))


def log_ticks(axis: Any, values: list[float]) -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    decades = math.log10(max(values) / min(values)) if values else 1.0
    subs = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0) if decades < 1 else (1.0, 2.0, 5.0) if decades < 3 else (1.0,)
    axis.set_major_locator(LogLocator(base=10, subs=subs, numticks=12))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(formatter())
