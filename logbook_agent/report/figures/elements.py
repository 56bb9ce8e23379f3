"""The parts that pictures are written of: texts with their estimated widths, lines, and the marks of a series."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape

from msgspec import Struct

from logbook_agent.report.figures.figure import PlotSeries
from logbook_agent.report.figures.figure_words import plain
from logbook_agent.report.figures.theme import SERIES

TEXT, TITLE, NOTE = 12, 14, 11
# The mean width of a character over the size of the font, in Verdana and DejaVu Sans; bold is wider.
_CHARACTER, BOLD = 0.62, 0.7
# Markers around their place: each series has its own, so that colour is never alone.
_DOT = "m-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0z"
_MARKERS = (
    "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "m-3.6-3.6h7.2v7.2h-7.2z",
    "m0-4.8l4.4 8h-8.8z",
    "m0-5l5 5l-5 5l-5-5z",
    "m0 4.8l4.4-8h-8.8z",
    "m-1.5-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
    "m-4-4h2.6l1.4 2.4l1.4-2.4h2.6l-2.5 4l2.5 4h-2.6l-1.4-2.4l-1.4 2.4h-2.6l2.5-4z",
    "m0-5l4.8 3.5l-1.8 5.5h-6l-1.8-5.5z",
)
_DASHES = ("", "8 3", "2 3", "8 3 2 3", "12 4", "5 2", "12 3 2 3 2 3", "4 4")
_BESIDE = "4 3"


class Look(Struct, frozen=True):
    """How a series is drawn: the class of its colour, its marker and its dashes."""

    ink: str
    marker: str
    dashes: str


def looks(series: Sequence[PlotSeries]) -> list[Look]:
    """A colour and a marker for each curve, by its place; one further colour for bands and levels, or grey where they
    are only there for others to be held against."""
    found: list[Look] = []
    curves = lines = 0
    several = sum(one.shape not in ("band", "rule") for one in series)
    for one in series:
        beside = _BESIDE if one.beside else ""
        if one.shape in ("band", "rule"):
            found.append(Look("muted" if one.beside else f"c{several % SERIES + 1}", "", beside))
            continue
        shape = {"steps": _DOT, "curve": ""}.get(one.shape, _MARKERS[(curves + curves // SERIES) % SERIES])
        found.append(Look(f"c{curves % SERIES + 1}", shape, beside or _DASHES[lines % SERIES]))
        curves, lines = curves + 1, lines + (not one.beside and one.shape in ("line", "steps"))
    return found


def width_of(words: str, size: float = TEXT) -> float:
    """The estimated width of a text."""
    return size * sum(1.1 if unicodedata.east_asian_width(sign) in "WF" else _CHARACTER for sign in words)


def room_for(width: float) -> int:
    """How many characters fit into a width."""
    return max(4, int(width / (TEXT * _CHARACTER) + 0.01))


def lines_of(words: str, width: float, size: float, most: int, share: float = _CHARACTER) -> list[str]:
    """A text in lines of this width, at most so many; what does not fit ends in `…`."""
    lines = textwrap.wrap(plain(words), int(width / (size * share)), break_on_hyphens=False)
    return [*lines[: most - 1], f"{lines[most - 1][:-1]}…"] if len(lines) > most else lines


def fitting(labels: Iterable[tuple[float, float]], gap: float) -> list[int]:
    """Which of the labels, each with its middle and its length along an axis, can stand beside each other: the first
    ones first."""
    kept: list[tuple[int, float, float]] = []
    for at, (middle, length) in enumerate(labels):
        if all(abs(middle - other) >= (length + its) / 2 + gap for _, other, its in kept):
            kept.append((at, middle, length))
    return [at for at, _, _ in kept]


def text(words: str, left: float, base: float, *, anchor: str = "", kind: str = "") -> str:
    attributes = (f' class="{kind}"' if kind else "") + (f' text-anchor="{anchor}"' if anchor else "")
    return f'<text x="{left:.1f}" y="{base:.1f}"{attributes}>{escape(plain(words))}</text>'


def group(ink: str, content: str) -> str:
    return f'<g class="{ink}">{content}</g>'


def path(data: str, dashes: str = "", kind: str = "line") -> str:
    return f'<path class="{kind}" d="{data}"' + (f' stroke-dasharray="{dashes}"/>' if dashes else "/>")


def marker(look: Look, place: str, *, hollow: bool, small: bool = False) -> str:
    kind = ' class="hollow"' if hollow else ""
    return f'<path{kind} d="M{place}{_DOT if small else look.marker}"/>'


def swatch(one: PlotSeries, look: Look, left: float, middle: float) -> str:
    """What stands for a series in a legend."""
    if one.shape == "band":
        return path(f"M{left:.1f} {middle - 5:.1f}h22v10h-22z", kind="band")
    line = "" if one.shape == "points" else path(f"M{left:.1f} {middle:.1f}h22", look.dashes)
    return line + (marker(look, f"{left + 11:.1f} {middle:.1f}", hollow=one.beside) if look.marker else "")
