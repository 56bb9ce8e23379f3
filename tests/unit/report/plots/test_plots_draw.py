"""The SVG of figures that no logbook of a test has: hostile texts, numbers without a place, very many cases."""

from __future__ import annotations

import csv
import io
import math
import re
from dataclasses import replace
from itertools import combinations

import pytest

from logbook_agent.report.figures.figure import Figure, FigureKind, PlotAxis, PlotPoint, PlotSeries
from logbook_agent.report.figures.figure_table import as_csv
from logbook_agent.report.figures.svg import NARROW, WIDE, svg
from logbook_agent.report.figures.theme import DARK, LIGHT
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


def test_no_mark_is_moved_to_where_another_belongs() -> None:
    near = tuple(PlotPoint(x=x, y=1.0, said=f"{x}", entry="X-001") for x in (0.0, 1.0, 1024.0))
    a, b = (PlotSeries(name=name, shape="line", points=near) for name in ("a", "b"))
    first, second, _, other, *_ = (mark.place[0] for mark in marks(svg(figure(a, b))))
    assert first <= other < second
    # Where there is room, intervals stand beside each other.
    wide = [mark.place[0] for mark in marks(svg(figure(line(), line("int8", shift=0.3))))]
    assert wide[0] < wide[3]


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


def test_a_gap_in_a_curve_is_a_gap() -> None:
    values = (1.0, 2.0, math.nan, 3.0, 4.0)
    points = tuple(PlotPoint(x=float(x), y=y, said="loss", entry="X-001") for x, y in enumerate(values))
    [data] = re.findall(r'<title>loss</title><path class="line" d="([^"]*)"', svg(figure(PlotSeries(
        name="loss", shape="curve", points=points))))  # fmt: skip
    assert re.sub(r"[-\d. ]", "", data) == "MLML"


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_very_many_cases_are_one_mark_and_many_series_a_short_legend(width: int) -> None:
    names = tuple(f"a_rather_long_key={n} another_key={n * 7}" for n in range(500))
    points = tuple(PlotPoint(x=name, y=float(n + 1), entry="X-001") for n, name in enumerate(names))
    flat = svg(figure(PlotSeries(name="cases", shape="points", points=points), names=names), width=width)
    steps = svg(figure(PlotSeries(name="cases", shape="steps", points=points), names=names), width=width)
    assert (marks(flat), marks(steps)) == ([], [])
    assert re.findall("<title>cases</title>", flat + steps) == ["<title>cases</title>"] * 2
    assert flat.count("h0") == steps.count("h0") == 500
    many = svg(figure(*(line(f"case {n}", shift=n) for n in range(60))), width=width)
    assert "and 48 more" in texts(many)
    long = PlotAxis(name="a_rather_long_name_of_" * 4, unit="unit")
    named = svg(replace(figure(), x=long, y=long), width=width)
    for text in (flat, steps, many, named):
        _, _, wide, height = map(float, parsed(text).attrib["viewBox"].split())
        assert (wide, height < 1200) == (width, True)
        assert not [pair for pair in combinations(labels(text), 2) if pair[0].overlaps(pair[1])]
        assert all(10 <= label.left < label.right <= width - 9 for label in labels(text))


def test_a_cell_is_no_formula() -> None:
    texts_of = ("=1+1", "@x", 'say "a"', "-1")
    points = tuple(PlotPoint(x=text, y=1.5, entry="X-001") for text in texts_of)
    made = figure(PlotSeries(name="+x", shape="points", points=points), names=texts_of)
    rows = [*csv.DictReader(io.StringIO(as_csv(made)))]
    assert [row["x"] for row in rows] == ["'=1+1", "'@x", 'say "a"', "-1"]
    assert {(row["series"], row["y"], row["low"], row["n"]) for row in rows} == {("'+x", "1.5", "", "1")}


def luminance(colour: str) -> float:
    """Relative luminance, WCAG 2.2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_stand_out_from_the_paper(theme: dict[str, str]) -> None:
    least = {role: 4.5 if role in ("ink", "muted") else 3.0 for role in theme if role not in ("paper", "grid")}
    found = {role: contrast(theme[role], theme["paper"]) for role in least}
    assert {role: round(c, 2) for role, c in found.items() if c < least[role]} == {}
    assert LIGHT.keys() == DARK.keys()
    assert len({*theme.values()}) == len(theme)


def test_on_a_page_colours_are_the_pages_and_nothing_needs_a_style() -> None:
    text = svg(figure(), framed=False)
    assert not re.search(r"<style|style=|xmlns| id=|#[0-9a-f]{6}", text)
