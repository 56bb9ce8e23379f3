"""The parts that pictures are written of: colours, texts with their estimated widths, lines, the marks of a series, and
where values lie along an axis, linear, logarithmic or compressed towards its ends.

The eight colours of the series come from the palette of M. Okabe and K. Ito (jfly.uni-koeln.de/color, 2008), which
people with any common colour blindness can tell apart, made darker or lighter until each has a contrast of 3 to 1
against the paper of its theme (WCAG 2.2, 1.4.11); text has 4.5 to 1."""

from __future__ import annotations

import math
import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from xml.sax.saxutils import escape

from msgspec import Struct, structs

from logbook_agent.report.figures.figure import PlotAxis, PlotSeries, plain

SERIES = 8
_COLOURS = {
    "paper": ("#ffffff", "#0d1117"),
    "ink": ("#1f2328", "#e6edf3"),
    "muted": ("#59636e", "#9198a1"),
    "grid": ("#d8dee4", "#30363d"),
    "series-1": ("#0072b2", "#4aa3df"),
    "series-2": ("#d55e00", "#f08339"),
    "series-3": ("#00815f", "#1fb58f"),
    "series-4": ("#b5478f", "#e08cc0"),
    "series-5": ("#8a6a00", "#e3c22f"),
    "series-6": ("#2b86bd", "#9ad1f5"),
    "series-7": ("#5c5c5c", "#b8b8b8"),
    "series-8": ("#7d3c98", "#c397d8"),
}
LIGHT, DARK = ({role: pair[at] for role, pair in _COLOURS.items()} for at in (0, 1))
# A page sets the variables.
PAGE = {role: f"var(--{role})" for role in _COLOURS}
_FONT = "12px 'Segoe UI',Helvetica,Arial,sans-serif"


def rules(colours: Mapping[str, str]) -> str:
    """The style sheet of a picture in these colours. It has no variables, which programs other than browsers lack."""
    of = {f"c{n}": colours[f"series-{n}"] for n in range(1, SERIES + 1)} | {"muted": colours["muted"]}
    return "".join(
        (
            f".plot text{{font:{_FONT};fill:{colours['ink']};stroke:none}}",
            f".plot .title{{font-weight:600;font-size:14px}}.plot .note{{font-size:11px;fill:{colours['muted']}}}",
            f".plot .name{{fill:{colours['muted']}}}.plot .paper{{fill:{colours['paper']}}}",
            *(f".plot .{name}{{fill:{colour};stroke:{colour}}}" for name, colour in of.items()),
            f".plot .grid{{stroke:{colours['grid']}}}.plot .axis{{stroke:{colours['muted']};fill:none}}",
            f".plot .line{{fill:none;stroke-width:1.6}}.plot .hollow{{fill:{colours['paper']};stroke-width:1.4}}",
            f".plot .over{{stroke:{colours['paper']};stroke-width:6;paint-order:stroke}}",
            ".plot .band{fill-opacity:.16;stroke:none}.plot .dots{stroke-width:5;stroke-linecap:round}",
            ".plot .disc{stroke-width:9;stroke-linecap:round}",
        )
    )


TEXT, TITLE, NOTE = 12, 14, 11
# The mean width of a character over the size of the font, in Verdana and DejaVu Sans; bold is wider.
_CHARACTER, BOLD = 0.62, 0.7
# Markers around their place: each series has its own, so that colour is never alone. A disc is a line of no length
# with round ends.
_DOT, _DISC, _CIRCLE = "dots", "disc", "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z"
_MARKERS = (
    _DISC,
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


def px(value: float) -> str:
    """A place in the picture: `12.5`, `12`."""
    return f"{value:.1f}".removesuffix(".0")


def text(words: str, left: float, base: float, *, anchor: str = "", kind: str = "") -> str:
    attributes = (f' class="{kind}"' if kind else "") + (f' text-anchor="{anchor}"' if anchor else "")
    return f'<text x="{px(left)}" y="{px(base)}"{attributes}>{escape(plain(words))}</text>'


def group(ink: str, content: str) -> str:
    return f'<g class="{ink}">{content}</g>'


def path(data: str, dashes: str = "", kind: str = "line") -> str:
    return f'<path class="{kind}" d="{data}"' + (f' stroke-dasharray="{dashes}"/>' if dashes else "/>")


def marker(look: Look, place: str, *, hollow: bool, small: bool = False) -> str:
    shape = _DOT if small else look.marker
    if shape in (_DOT, _DISC) and not hollow:
        return path(f"M{place}h0", kind=shape)
    kind = ' class="hollow"' if hollow else ""
    return f'<path{kind} d="M{place}{_CIRCLE if shape in (_DOT, _DISC) else shape}"/>'


def swatch(one: PlotSeries, look: Look, left: float, middle: float) -> str:
    """What stands for a series in a legend."""
    if one.shape == "band":
        return path(f"M{px(left)} {px(middle - 5)}h22v10h-22z", kind="band")
    line = "" if one.shape == "points" else path(f"M{px(left)} {px(middle)}h22", look.dashes)
    return line + (marker(look, f"{px(left + 11)} {px(middle)}", hollow=one.beside) if look.marker else "")


# An interval is cut where it reaches so many times as far beyond the values as they lie apart, and as most others do.
_CUT = 3.0


class ValueScale(Struct, frozen=True):
    """Values from `low` to `high`, which stand at the pixels `start` and `end`. `bend`: from this distance to zero on,
    a bent axis is logarithmic."""

    low: float
    high: float
    log: bool = False
    bend: float = 0.0
    start: float = 0.0
    end: float = 1.0

    def between(self, start: float, end: float) -> ValueScale:
        return structs.replace(self, start=start, end=end)

    @property
    def is_uneven(self) -> bool:
        """Whether equal differences have unequal lengths."""
        return self.log or bool(self.bend)

    def has(self, value: float) -> bool:
        return self.low <= value <= self.high

    def place(self, value: float) -> float:
        """The pixel of a value; beyond the ends, the end."""
        low, high, inside = map(self._along, (self.low, self.high, min(max(value, self.low), self.high)))
        return self.start + (self.end - self.start) * (inside - low) / (high - low)

    def _along(self, value: float) -> float:
        if self.log:
            return math.log10(value)
        return math.asinh(value / self.bend) if self.bend else value


def scale_of(values: Sequence[float], axis: PlotAxis, ends: Sequence[float] = ()) -> ValueScale:
    """An axis around all values and the ends of their intervals, with some room on both sides. A single interval that
    would hide the differences of all else is cut."""
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    if axis.log and low > 0:
        powers = [math.log10(end) for end in ends if end > 0]
        first, last = _around(math.log10(low), math.log10(high), powers)
        return ValueScale(10**first, 10**last, log=True)
    return ValueScale(*_around(low, high, ends), bend=axis.bend)


def _around(low: float, high: float, ends: Sequence[float]) -> tuple[float, float]:
    beyond = sorted(max(low - end, end - high, 0.0) for end in ends)
    most = _CUT * max(high - low, beyond[len(beyond) // 2] if beyond else 0.0) or math.inf
    low, high = (
        min([low, *(max(end, low - most) for end in ends)]),
        max([high, *(min(end, high + most) for end in ends)]),
    )
    room = 0.06 * (high - low) or abs(high) * 0.1 or 0.5
    return low - room, high + room


def round_values(scale: ValueScale, most: int, *, whole: bool = False) -> list[float]:
    """About so many round values within an axis, those first that are to be labelled first."""
    decades = math.log10(scale.high) - math.log10(scale.low) if scale.log else 0.0
    if scale.bend:
        steps = [float(f"{digit}e{power}") for power in range(6, -3, -1) for digit in (5, 2, 1)]
        found = [0.0, *(sign * step for step in steps for sign in (1, -1))]
    elif decades > 0.7:
        powers = range(math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high)) + 1)
        every = max(1, math.ceil(decades / most))
        digits = (1, 2, 3, 5, 7) if decades < 1.2 else (1, 2, 5) if decades < 3 else (1,)
        found = [float(f"{digit}e{power}") for power in powers if power % every == 0 for digit in digits]
    else:
        least = (scale.high - scale.low) / most
        power = 10.0 ** math.floor(math.log10(max(least, 1.0) if whole else least))
        step = next(power * share for share in (1, 2, 5, 10) if power * share >= least)
        found = [step * n for n in range(math.ceil(scale.low / step), math.floor(scale.high / step) + 1)]
    return [value for value in found if scale.has(value)]
