"""A figure as SVG: the same picture on pages, in views and issues, on paper and by `logbook plot`.

Sizes are in CSS pixels. Widths of text are estimated for the widest of the usual fonts, so no label runs over another
in any of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape, quoteattr

from logbook_agent.report.figures.elements import (
    BOLD,
    DARK,
    LIGHT,
    NOTE,
    TITLE,
    Look,
    group,
    lines_of,
    looks,
    room_for,
    rules,
    swatch,
    text,
    width_of,
)
from logbook_agent.report.figures.figure import Figure, PlotSeries, cut, plain
from logbook_agent.report.figures.plot_area import MARGIN, PlotArea

# The widths of a picture: its own, and that for a narrow screen.
WIDE, NARROW = 560, 320
# What a picture that is kept as a file begins with.
OURS = '<svg xmlns="http://www.w3.org/2000/svg" data-digest="'
_LINE, _NOTE_LINE = 18.0, 15.0
_LEGEND_MOST, _NAME_CHARS, _TITLE_LINES, _NOTE_LINES = 12, 44, 3, 6


def svg(figure: Figure, *, width: int = WIDE, framed: bool = True) -> str:
    """The figure as SVG of this width; equal figures give equal text. Each mark says what it is in its title, and links
    to its entry as `#ID`. `framed`: with title, note, paper and a style sheet with a light and a dark theme, as a file;
    a page has all these around it."""
    parts: list[str] = []
    top, room = MARGIN, width - 2 * MARGIN
    if framed:
        titles = lines_of(figure.title, room, TITLE, _TITLE_LINES, BOLD)
        parts += [text(line, MARGIN, top + TITLE + n * _LINE, kind="title") for n, line in enumerate(titles)]
        top += _LINE * len(titles) + 6
    shown = tuple(one for one in figure.series if one.drawable)
    found = looks(shown)
    legend, top = _legend(shown, found, width, top)
    plot, bottom = PlotArea(figure, shown, found, width, top).drawn()
    notes = lines_of(figure.note, room, NOTE, _NOTE_LINES) if framed else ()
    last = [text(line, MARGIN, bottom + 16 + n * _NOTE_LINE, kind="note") for n, line in enumerate(notes)]
    height = bottom + _NOTE_LINE * len(notes) + 8
    return _document(figure, [*parts, *legend, *plot, *last], width, height, framed=framed)


def _document(figure: Figure, parts: Iterable[str], width: float, height: float, *, framed: bool) -> str:
    if not framed:
        inside = f"{MARGIN:.0f} {MARGIN:.0f} {width - 2 * MARGIN:.0f} {height - MARGIN:.0f}"
        return f'<svg class="plot" viewBox="{inside}" role="group">{"".join(parts)}</svg>'
    role = f'role="group" aria-label={quoteattr(plain(figure.title))}'
    head = f'class="plot" width="{width}" height="{height:.0f}" viewBox="0 0 {width} {height:.0f}" {role}'
    style = f"<style>{rules(LIGHT)}@media (prefers-color-scheme:dark){{{rules(DARK)}}}</style>"
    about = f"<title>{escape(plain(figure.title))}</title><desc>{escape(plain(figure.note))}</desc>"
    paper = '<rect class="paper" width="100%" height="100%"/>'
    return "\n".join([f'{OURS}{figure.digest}" {head}>', style, about, paper, *parts, "</svg>", ""])


def _legend(series: Sequence[PlotSeries], found: Sequence[Look], width: float, top: float) -> tuple[list[str], float]:
    """The names of several series, curves first, and where the picture goes on; a single one is named by the axis."""
    if len(series) < 2:
        return [], top
    items = sorted(zip(series, found, strict=True), key=lambda item: item[0].shape in ("band", "rule"))
    parts, left = [], MARGIN
    for one, look in items[:_LEGEND_MOST]:
        name = cut(one.name, min(_NAME_CHARS, room_for(width - 2 * MARGIN - 30)))
        if left > MARGIN and left + 30 + width_of(name) > width - MARGIN:
            left, top = MARGIN, top + _LINE
        parts.append(group(look.ink, swatch(one, look, left, top + 8)) + text(name, left + 28, top + 12))
        left += 42 + width_of(name)
    if (more := len(items) - _LEGEND_MOST) > 0:
        top += _LINE
        parts.append(text(f"and {more:,} more", MARGIN, top + 12))
    return parts, top + _LINE + 6
