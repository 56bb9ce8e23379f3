"""A figure as matplotlib draws it. Each mark has a group ID, by which `markup` finds it: `m` or `i` (its interval), the
place of its series and its own."""

from __future__ import annotations

import io
import math
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from logbook_agent.model.errors import UsageError
from logbook_agent.report.figures.figure import SMALLEST, Figure, PlotPoint, PlotSeries, interval_of, is_drawable
from logbook_agent.report.figures.figure_words import plain
from logbook_agent.report.plots.layout import (
    SMALL_PT,
    TEXT_PT,
    TITLE_PT,
    WIDTH,
    Placement,
    around,
    formatter,
    log_ticks,
    whole,
)
from logbook_agent.report.plots.theme import LIGHT, Stroke, filled, strokes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

# Matplotlib's settings are of the whole process.
_LOCK = threading.Lock()
_OURS = {
    "svg.fonttype": "none",  # text stays text: it can be searched, read aloud and copied, and is small
    "svg.hashsalt": "logbook",
    "text.parse_math": False,  # `$` is a dollar
    "text.usetex": False,
    "font.family": ["DejaVu Sans"],  # the one that comes along with matplotlib
    "font.size": TEXT_PT,
    "axes.unicode_minus": True,
    "path.simplify": False,
}


def rendered(figure: Figure, layout: Placement) -> str:
    """The SVG as matplotlib writes it. Raises UsageError where matplotlib is not installed."""
    with _LOCK, _settings():
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure as MatplotlibFigure

        canvas = MatplotlibFigure(figsize=(WIDTH, layout.height), dpi=72, facecolor=LIGHT["paper"])
        left, bottom, width, height = layout.box
        axes = canvas.add_axes((left / WIDTH, bottom / layout.height, width / WIDTH, height / layout.height))
        _Drawing(figure, layout, axes).draw()
        _texts(canvas, layout)
        _legend(canvas, figure, layout)
        text = io.StringIO()
        FigureCanvasSVG(canvas).print_svg(text, metadata={"Date": None})  # type: ignore[no-untyped-call]
        return text.getvalue()


@contextmanager
def _settings() -> Iterator[None]:
    """Matplotlib's own defaults with ours, whatever a matplotlibrc says; afterwards all is as it was."""
    with warnings.catch_warnings():
        # A script that its font lacks: the reader's has it.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        try:
            import matplotlib
        except ImportError as error:
            raise UsageError(
                "plots need matplotlib, which is not installed",
                cause=str(error),
                hint="pip install 'logbook-agent[plot]'",
            ) from None
        own: dict[Any, Any] = {k: v for k, v in matplotlib.rcParamsDefault.items() if not k.startswith("backend")}
        with matplotlib.rc_context(own | _OURS):
            yield


class _Drawing:
    """One figure on its axes. `turned`: what is x in the figure goes along the vertical axis."""

    def __init__(self, figure: Figure, layout: Placement, axes: Axes) -> None:
        self.figure, self.layout, self.axes = figure, layout, axes
        self.turned = layout.turned
        self.places = {name: at for at, name in enumerate(figure.x.names)}
        self.log_x = figure.x.log and bool(self._numbers()) and min(self._numbers()) > 0
        points = [p for s in figure.series for p in s.points if is_drawable(p)]
        self.log_y = figure.y.log and bool(points) and min(p.y for p in points) > 0

    def _numbers(self, *, marks: bool = False) -> list[float]:
        """The numbers that the points lie at; of `marks` those of curves and points alone."""
        series = [s for s in self.figure.series if not marks or s.shape in ("line", "points")]
        return [self.at(p) for s in series for p in s.points if is_drawable(p)]

    def at(self, point: PlotPoint) -> float:
        return float(self.places.get(str(point.x), 0)) if isinstance(point.x, str) else float(point.x)

    def draw(self) -> None:
        found = strokes(self.figure.series)
        curves = [at for at, s in enumerate(self.figure.series) if s.shape in ("line", "points") and s.points]
        self._axes()
        step = self._step(curves) if self._meet(curves) else 0.0
        for at, (series, look) in enumerate(zip(self.figure.series, found, strict=True)):
            points = [(n, p) for n, p in enumerate(series.points) if is_drawable(p)]
            if not points:
                continue
            place = curves.index(at) - (len(curves) - 1) / 2 if at in curves else 0.0
            if series.shape == "band":
                self._band(at, points, look)
            elif series.shape == "rule":
                self._rule(at, points, look)
            else:
                self._curve(at, series, points, look, place * step)

    def _meet(self, curves: list[int]) -> bool:
        """Whether marks of two curves are at one place of the axis. In an order of runs none are."""
        places = [self.at(p) for at in curves for p in self.figure.series[at].points]
        return len({*places}) < len(places)

    def _step(self, curves: list[int]) -> float:
        """By how much (pt) marks of different curves at one place are moved apart: all of them together by less than
        half of the way to the next place, so that none is read as one of that."""
        step = min(5.0, 22.0 / len(curves))
        places = sorted({self.at(p) for at in curves for p in self.figure.series[at].points if is_drawable(p)})
        if len(places) < 2 or len(curves) < 2:
            return step
        level = min(self.axes.get_xlim() if self.turned else self.axes.get_ylim())
        drawn = self.axes.transData.transform([(level, v) if self.turned else (v, level) for v in places])
        along = drawn[:, 1 if self.turned else 0] * 72 / self.axes.figure.dpi
        room = min(abs(b - a) for a, b in pairwise(along))
        return min(step, float(room) / 2 / (len(curves) - 1))

    def _axes(self) -> None:
        axes, figure = self.axes, self.figure
        axes.set_facecolor(LIGHT["paper"])
        for name, spine in axes.spines.items():
            spine.set_visible(name in ("left", "bottom"))
            spine.set_color(LIGHT["muted"])
        axes.tick_params(colors=LIGHT["muted"], labelcolor=LIGHT["ink"], labelsize=TEXT_PT, which="both")
        axes.grid(visible=True, color=LIGHT["grid"], linewidth=0.7)
        axes.set_axisbelow(True)
        label: dict[str, Any] = {"color": LIGHT["ink"], "fontsize": TEXT_PT}
        x, y = plain(figure.x.label), plain(figure.y.label)
        axes.set_xlabel(y if self.turned else x, **label)
        axes.set_ylabel("" if self.turned else y, **label)
        self._limits()
        if figure.x.names:
            self._name_ticks()
        else:
            self._ticks(axes.xaxis, log=self.log_x)
        value_axis = axes.xaxis if self.turned else axes.yaxis
        value_axis.set_major_formatter(formatter())
        if self.log_y:
            log_ticks(value_axis, self._heights())

    def _heights(self) -> list[float]:
        points = [p for s in self.figure.series for p in s.points if is_drawable(p)]
        ends = [end for p in points if (both := interval_of(p)) for end in both]
        return [v for v in (*(p.y for p in points), *ends) if not self.log_y or v > 0]

    def _limits(self) -> None:
        """Around all marks and intervals, so that none is cut off."""
        heights, places = self._heights() or [0.0, 1.0], self._numbers() or [0.0, 1.0]
        set_y, set_x = (
            (self.axes.set_xlim, self.axes.set_ylim) if self.turned else (self.axes.set_ylim, self.axes.set_xlim)
        )
        if self.log_y:
            (self.axes.set_xscale if self.turned else self.axes.set_yscale)("log")
        set_y(*around(heights, log=self.log_y, share=0.08))
        if self.figure.x.names:
            last = len(self.figure.x.names) - 0.4
            set_x(*((last, -0.6) if self.turned else (-0.6, last)))
            return
        if self.log_x:
            self.axes.set_xscale("log")
        set_x(*around(places, log=self.log_x, share=0.05))

    def _name_ticks(self) -> None:
        at, names = [n for n, _ in self.layout.ticks], [name for _, name in self.layout.ticks]
        if self.turned:
            self.axes.set_yticks(at, names, fontsize=self.layout.tick_pt)
        elif self.layout.slanted:
            self.axes.set_xticks(at, names, rotation=35, ha="right", rotation_mode="anchor")
        else:
            self.axes.set_xticks(at, names)

    def _ticks(self, axis: Any, *, log: bool) -> None:
        """At the values of the marks where these are few and lie over the whole axis, so that a reader finds them."""
        from matplotlib.ticker import FixedLocator, NullLocator

        every = self._numbers()
        distinct = sorted({*(self._numbers(marks=True) or every)})
        steps, ends = ([math.log(v) if log else v for v in sorted(values)] for values in (distinct, every))
        span = ends[-1] - ends[0] if ends else 0.0
        apart = all(b - a >= 0.05 * span for a, b in pairwise(steps))
        axis.set_major_formatter(formatter())
        if 1 <= len(distinct) <= 12 and apart and steps[-1] - steps[0] >= 0.5 * span:
            axis.set_major_locator(FixedLocator(distinct))
            axis.set_minor_locator(NullLocator())
        elif log:
            log_ticks(axis, every)
        elif distinct and all(float(v).is_integer() for v in distinct):
            axis.set_major_locator(FixedLocator(whole(distinct[0], distinct[-1])))

    def _curve(
        self, at: int, series: PlotSeries, points: list[tuple[int, PlotPoint]], look: Stroke, shift: float
    ) -> None:
        """Marks beside those of other curves at the same place, by a few points, so that intervals are seen."""
        from matplotlib.transforms import ScaledTranslation

        own, canvas = self.axes.transData, self.axes.figure
        by = (0.0, -shift / 72) if self.turned else (shift / 72, 0.0)
        moved = own + ScaledTranslation(*by, canvas.dpi_scale_trans) if shift else own
        style: dict[str, Any] = {"color": look.colour, "transform": moved}
        xs, ys = [self.at(p) for _, p in points], [p.y for _, p in points]
        if series.shape in ("line", "steps"):
            how: dict[str, Any] = {"drawstyle": "steps-post"} if series.shape == "steps" else {}
            (line,) = self.axes.plot(*self._xy(xs, ys), linewidth=1.6, zorder=2.5, **how, **style)
            if look.dashes:
                line.set_dashes(look.dashes)
        size = 3.5 if series.shape == "steps" else 6.0 if len(points) <= 40 else 4.0 if len(points) <= 200 else 2.5
        inside = LIGHT["paper"] if look.beside else look.colour
        for number, point in points:
            x, both = self.at(point), interval_of(point)
            if both is not None:
                low, high = (max(end, SMALLEST) if self.log_y else end for end in both)
                cap = "|" if self.turned else "_"
                self.axes.plot(
                    *self._xy([x, x], [low, high]), linewidth=1.3, marker=cap, markersize=7, zorder=2.8,
                    gid=f"i{at}.{number}", **style,
                )  # fmt: skip
            self.axes.plot(
                *self._xy([x], [point.y]), marker=look.marker, markersize=size, markerfacecolor=inside,
                markeredgewidth=1.3, linestyle="none", zorder=3, gid=f"m{at}.{number}", clip_on=False, **style,
            )  # fmt: skip

    def _band(self, at: int, points: list[tuple[int, PlotPoint]], look: Stroke) -> None:
        """Across the whole plot where it is level, like a rule."""
        ends = [both for _, p in points if (both := interval_of(p))]
        if not ends:
            return
        xs = [self.at(p) for _, p in points]
        xs[0], xs[-1] = self._across(xs)
        if self.log_y:
            ends = [(max(low, SMALLEST), high) for low, high in ends]
        fill = self.axes.fill_betweenx if self.turned else self.axes.fill_between
        lows, highs = [low for low, _ in ends], [high for _, high in ends]
        fill(xs, lows, highs, zorder=1.5, gid=f"m{at}.{points[0][0]}", **filled(look))

    def _across(self, xs: list[float]) -> tuple[float, float]:
        low, high = sorted(self.axes.get_ylim() if self.turned else self.axes.get_xlim())
        return (low, high) if len(xs) > 1 else (xs[0], xs[0])

    def _rule(self, at: int, points: list[tuple[int, PlotPoint]], look: Stroke) -> None:
        """A level across the plot."""
        [(number, point)] = points
        limits = self.axes.get_ylim() if self.turned else self.axes.get_xlim()
        (line,) = self.axes.plot(
            *self._xy(sorted(limits), [point.y] * 2), color=look.colour, linewidth=1.3, zorder=2, gid=f"m{at}.{number}"
        )
        if look.dashes:
            line.set_dashes(look.dashes)

    def _xy(self, xs: list[float], ys: list[float]) -> tuple[list[float], list[float]]:
        return (ys, xs) if self.turned else (xs, ys)


def _texts(canvas: Canvas, layout: Placement) -> None:
    """Title and note."""
    for number, line in enumerate(layout.titles):
        y = 1 - (0.12 + TITLE_PT * 1.35 / 72 * (number + 0.8)) / layout.height
        canvas.text(0.2 / WIDTH, y, line, fontsize=TITLE_PT, fontweight="bold", color=LIGHT["ink"])
    for number, line in enumerate(reversed(layout.notes)):
        y = (0.12 + SMALL_PT * 1.35 / 72 * number) / layout.height
        canvas.text(0.2 / WIDTH, y, line, fontsize=SMALL_PT, color=LIGHT["muted"])


def _legend(canvas: Canvas, figure: Figure, layout: Placement) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if not layout.legend:
        return
    found = strokes(figure.series)
    handles: list[Any] = []
    for at, name in layout.legend:
        series, look = figure.series[at], found[at]
        if series.shape == "band":
            handles.append(Patch(label=name, **filled(look)))
            continue
        line = Line2D(
            [], [], color=look.colour, marker=look.marker or "none", markersize=5.5, markeredgewidth=1.3, label=name,
            markerfacecolor=LIGHT["paper"] if look.beside else look.colour, linewidth=1.5,
            linestyle="none" if series.shape == "points" else "-",
        )  # fmt: skip
        if look.dashes:
            line.set_dashes(look.dashes)
        handles.append(line)
    if layout.more:
        handles.append(Line2D([], [], linestyle="none", label=f"and {layout.more:,} more"))
    canvas.legend(
        handles=handles, loc="upper left", ncols=layout.columns, frameon=False, fontsize=TEXT_PT,
        labelcolor=LIGHT["ink"], bbox_to_anchor=(0.18 / WIDTH, 1 - layout.legend_top / layout.height),
        borderpad=0, borderaxespad=0, columnspacing=1.4, handlelength=2.4,
    )  # fmt: skip
