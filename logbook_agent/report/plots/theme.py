"""Colours, markers and dashes. Colours are named by their role, so that a picture has a light and a dark theme.

The eight of the series come from the palette of M. Okabe and K. Ito (jfly.uni-koeln.de/color, 2008), which people with
any common colour blindness can tell apart, made darker or lighter until each has a contrast of 3 to 1 against the paper
of its theme (WCAG 2.2, 1.4.11); text has 4.5 to 1. Colour is never alone: markers and dashes differ with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Any

from logbook_agent.report.figures.figure import PlotSeries

SERIES = 8

# Every colour of a theme once: a drawing is made with those of the light one, by which their roles are known then.
LIGHT = {
    "paper": "#ffffff",
    "ink": "#1f2328",
    "muted": "#59636e",
    "grid": "#d8dee4",
    "series-1": "#0072b2",
    "series-2": "#d55e00",
    "series-3": "#00815f",
    "series-4": "#b5478f",
    "series-5": "#8a6a00",
    "series-6": "#2b86bd",
    "series-7": "#5c5c5c",
    "series-8": "#7d3c98",
}
DARK = {
    "paper": "#0d1117",
    "ink": "#e6edf3",
    "muted": "#9198a1",
    "grid": "#30363d",
    "series-1": "#4aa3df",
    "series-2": "#f08339",
    "series-3": "#1fb58f",
    "series-4": "#e08cc0",
    "series-5": "#e3c22f",
    "series-6": "#9ad1f5",
    "series-7": "#b8b8b8",
    "series-8": "#c397d8",
}
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p")
# On and off, in widths of the line; an empty one is solid.
DASHES: tuple[tuple[float, ...], ...] = (
    (), (5, 1.5), (1, 1.2), (5, 1.2, 1, 1.2), (8, 2), (3, 1), (8, 1.2, 1, 1.2, 1, 1.2), (2, 2),
)  # fmt: skip
# Wide fonts first, of the widths that the layout counts on: a reader's own font takes no more room.
FONTS = "'DejaVu Sans', Verdana, 'Segoe UI', Helvetica, Arial, sans-serif"


def marker(at: int) -> str:
    """The marker of a series; where colours begin again, they come with other markers."""
    return MARKERS[(at + at // SERIES) % len(MARKERS)]


def dashes(at: int) -> tuple[float, ...]:
    return DASHES[at % len(DASHES)]


def colour(at: int) -> str:
    return LIGHT[f"series-{at % SERIES + 1}"]


def style_sheet() -> str:
    """The style sheet of an SVG file: the colours of the dark theme. (Those of the light one are attributes of the
    elements, which every program understands.)"""
    rules = [f".f-{role}{{fill:{value}}}.s-{role}{{stroke:{value}}}" for role, value in DARK.items()]
    return f"@media (prefers-color-scheme:dark){{{''.join(rules)}}}"


# Dashes of what stands beside what is asked.
_BESIDE = (4.0, 2.0)


@dataclass(frozen=True, slots=True)
class Stroke:
    """How a series is drawn."""

    colour: str
    marker: str
    dashes: tuple[float, ...]
    beside: bool


def strokes(series: tuple[PlotSeries, ...]) -> list[Stroke]:
    """Curves and points have a colour each; bands and levels share one that follows, or are grey where they stand
    beside what is asked. A curve that is there to be held against is dashed, and the first of the others is solid."""
    numbers, lines, found = count(), count(), []
    curves = sum(s.shape not in ("band", "rule") for s in series)
    for one in series:
        if one.shape in ("band", "rule"):
            tint = LIGHT["muted"] if one.beside else colour(curves)
            found.append(Stroke(tint, "", _BESIDE if one.shape == "rule" and one.beside else (), one.beside))
        else:
            at = next(numbers)
            pattern = () if one.shape == "points" else _BESIDE if one.beside else dashes(next(lines))
            found.append(Stroke(colour(at), marker(at), pattern, one.beside))
    return found


def filled(look: Stroke) -> dict[str, Any]:
    """How a band is filled: a tint, or the edges alone where it is only there for comparison, so that both are seen
    where they overlap."""
    if look.beside:
        return {"facecolor": "none", "edgecolor": look.colour, "linewidth": 1.1, "linestyle": (0, (1, 2))}
    return {"facecolor": look.colour, "alpha": 0.16, "linewidth": 0}
