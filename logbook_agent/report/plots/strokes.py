"""How each series is drawn: colours, markers, dashes, fills."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Any

from logbook_agent.report.figures.figure import PlotSeries
from logbook_agent.report.plots.theme import LIGHT, colour, dashes, marker

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
    """A tint; of a band that stands beside what is asked its edges alone, so that both are seen where they overlap."""
    if look.beside:
        return {"facecolor": "none", "edgecolor": look.colour, "linewidth": 1.1, "linestyle": (0, (1, 2))}
    return {"facecolor": look.colour, "alpha": 0.16, "linewidth": 0}
