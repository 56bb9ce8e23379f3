"""The SVG of figures that no logbook of a test has: hostile texts, numbers without a place, very many cases."""

from __future__ import annotations

import math
import re
from itertools import combinations

import pytest
from msgspec.structs import replace

from logbook_agent.report.figures.figure import Figure, FigureKind, PlotAxis, PlotPoint, PlotSeries
from logbook_agent.report.figures.svg import NARROW, WIDE, svg
from tests.contract.report.plots.plots_support import SVG, labels, marks, parsed, texts


def line(name: str = "none", *, beside: bool = False, shift: float = 0.0) -> PlotSeries:
    points = tuple(
        PlotPoint(x=x, y=x + shift, low=x + shift - 0.5, high=x + shift + 1, n=3, said=f"{name} {x}", entry="X-001")
        for x in (1.0, 2.0, 4.0)
    )
    return PlotSeries(name=name, shape="line", points=points, beside=beside)


def figure(*series: PlotSeries, names: tuple[str, ...] = (), log: bool = False) -> Figure:
    return Figure(
        key="x-001-sweep-tflops",
        kind=FigureKind.SWEEP,
        title="X-001: tflops over topk",
        x=PlotAxis(name="topk", log=log, names=names),
        y=PlotAxis(name="tflops", unit="TF/s", log=log),
        series=series or (line(), line("int8", shift=0.3)),
        note="Median of 3 runs of each case; bars: lowest to highest run.",
        entries=("X-001",),
    )


HOSTILE = "<script>alert(1)</script> $\\frac{1}{0}$ \u202egnp.exe\u2066 ]]> --> &lt; \x00\x1b[31m \ud800 \uffff \" '"


def test_hostile_text_is_shown_and_does_nothing() -> None:
    points = tuple(replace(p, said=HOSTILE, entry=HOSTILE) for p in line().points)
    hostile = PlotAxis(name=HOSTILE, unit="<b>")
    made = replace(figure(replace(line(HOSTILE), points=points)), title=HOSTILE, note=HOSTILE, x=hostile, y=hostile)
    for framed in (False, True):
        root = parsed(svg(made, framed=framed))  # well-formed, whatever it holds
        assert {e.tag.removeprefix(SVG) for e in root.iter()} <= {
            "svg", "g", "a", "path", "rect", "text", "title", "desc", "style"
        }  # fmt: skip
        assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08\x1b\ud800-\udfff\uffff]", svg(made, framed=framed))
        assert not {name for e in root.iter() for name in e.attrib if name.startswith("on")}
        assert {e.attrib["href"][0] for e in root.iter() if "href" in e.attrib} == {"#"}
    assert any("<script>alert(1)</script>" in t for t in texts(svg(made)))


@pytest.mark.parametrize(
    "points",
    [
        (),
        (PlotPoint(x=1.0, y=5.0),),
        (PlotPoint(x=0.0, y=0.0), PlotPoint(x=1.0, y=-1.0), PlotPoint(x=100.0, y=1e6)),
        (PlotPoint(x=1.0, y=math.nan), PlotPoint(x=math.inf, y=1.0), PlotPoint(x=2.0, y=3.0, low=-math.inf, high=4.0)),
        (PlotPoint(x=1.0, y=1e308), PlotPoint(x=2.0, y=5e-324), PlotPoint(x=3.0, y=1.0, low=0.0, high=2.0)),
        (PlotPoint(x=1.0, y=1e-200), PlotPoint(x=2.0, y=1e200), PlotPoint(x=3.0, y=1.0, low=0.0, high=1e200)),
        (PlotPoint(x=1e16, y=1e16), PlotPoint(x=1e16 + 2, y=1e16 + 2)),
        tuple(PlotPoint(x=2.0, y=7.0) for _ in range(3)),
    ],
    ids=["nothing", "one", "zeros", "no numbers", "extremes", "wide", "near", "all alike"],
)
@pytest.mark.parametrize("shape", ["line", "points", "steps", "curve", "band", "rule"])
@pytest.mark.parametrize("log", [False, True])
def test_numbers_without_a_place_are_left_out(points: tuple[PlotPoint, ...], shape: str, log: bool) -> None:
    named = tuple(replace(p, said=f"{at}", entry="X-001") for at, p in enumerate(points))
    text = svg(figure(PlotSeries(name="odd", shape=shape, points=named), log=log))  # type: ignore[arg-type]
    kept = [
        p.said for p in named if all(math.isfinite(v) and (v == 0 or 1e-200 <= abs(v) <= 1e200) for v in (p.x, p.y))
    ]  # type: ignore[arg-type]
    assert [mark.said for mark in marks(text)] == (kept[:1] if shape in ("curve", "band", "rule") else kept)
    assert not re.search("nan|inf", text.partition("<rect")[2])


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_many_series_have_a_short_legend_within_the_picture(width: int) -> None:
    many = svg(figure(*(line(f"case {n}", shift=n) for n in range(60))), width=width)
    assert "and 48 more" in texts(many)
    assert not [pair for pair in combinations(labels(many), 2) if pair[0].overlaps(pair[1])]
    assert all(10 <= label.left < label.right <= width - 9 for label in labels(many))
