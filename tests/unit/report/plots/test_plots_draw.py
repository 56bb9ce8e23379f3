"""The SVG of a figure: what it says of every mark, the same bytes from the same data, and what hostile data do."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from logbook_agent.report.figures.figure import Figure, FigureKind, PlotAxis, PlotPoint, PlotSeries
from logbook_agent.report.plots.svg import svg
from logbook_agent.report.plots.theme import DARK, LIGHT
from tests.contract.report.plots.plots_support import SVG, marks, parsed, texts


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
    near = tuple(PlotPoint(x=x, y=1.0, entry="X-001") for x in (0.0, 1.0, 1024.0))
    a, b = (PlotSeries(name=name, shape="line", points=near) for name in ("a", "b"))
    at = {
        (g.get("data-series"), g.get("data-x")): float(g.find(f".//{SVG}use").get("x"))  # type: ignore[union-attr, arg-type]
        for g in parsed(svg(figure(a, b))).iter(f"{SVG}g")
        if g.get("class") == "mark"
    }
    assert at["a", "0.0"] <= at["b", "0.0"] < at["a", "1.0"]
    # Where there is room, intervals stand beside each other.
    wide = svg(figure(line(), line("int8", shift=0.3)))
    found = [g.find(f".//{SVG}use") for g in parsed(wide).iter(f"{SVG}g") if g.get("data-x") == "1.0"]
    assert len({use.get("x") for use in found if use is not None}) == 2


def test_it_says_what_it_shows() -> None:
    root = parsed(svg(figure()))
    assert root.get("role") == "img"
    title, note = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None
    assert note is not None
    assert root.get("aria-labelledby") == f"{title.get('id')} {note.get('id')}"
    assert (title.text, note.text) == (figure().title, figure().note)
    assert {"topk", "tflops (TF/s)", "none", "int8", "1", "2", "4", figure().title, figure().note} <= {
        *texts(svg(figure()))
    }


def both() -> str:
    return svg(figure()) + svg(figure(), inline=True)


@pytest.mark.slow
@pytest.mark.wide
def test_equal_figures_are_equal_bytes_in_any_process(tmp_path: Path) -> None:
    """Whatever the hash seed, the settings of matplotlib in the folder or in the environment, and the locale's."""
    (tmp_path / "matplotlibrc").write_text("lines.linewidth: 9\nsvg.fonttype: path\nfigure.dpi: 30\nfont.size: 30\n")
    program = "import sys; from tests.unit.report.plots.test_plots_draw import both; sys.stdout.write(both())"
    here = Path(__file__).resolve().parents[4]
    found = [
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=folder,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(here)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed, folder in (("1", tmp_path), ("2", here))
    ]
    assert found[0] == found[1] == both()


HOSTILE = "<script>alert(1)</script> $\\frac{1}{0}$ \u202egnp.exe\u2066 ]]> --> &lt; \x00\x1b[31m \ud800 \uffff \" '"


def test_hostile_text_is_shown_and_does_nothing() -> None:
    made = replace(
        figure(replace(line(HOSTILE), points=tuple(replace(p, said=HOSTILE, entry=HOSTILE) for p in line().points))),
        title=HOSTILE,
        note=HOSTILE,
        x=PlotAxis(name=HOSTILE, unit="$x$"),
        y=PlotAxis(name=HOSTILE, unit="<b>"),
    )
    for inline in (False, True):
        text = svg(made, inline=inline)
        root = parsed(text)  # well-formed, whatever it holds
        tags = {e.tag.removeprefix(SVG) for e in root.iter()}
        assert tags <= {"svg", "g", "path", "use", "defs", "clipPath", "rect", "text", "title", "desc", "style"}
        assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08\x1b\ud800-\udfff\uffff]", text)
        attributes = {name for e in root.iter() for name in e.attrib}
        assert not {name for name in attributes if name.startswith("on")}
        assert {e.attrib["href"][0] for e in root.iter() if "href" in e.attrib} == {"#"}
    # What looks like a formula stays as it was written.
    assert any("$\\frac{1}{0}$" in t for t in texts(svg(made)))


@pytest.mark.parametrize(
    "points",
    [
        (),
        (PlotPoint(x=1.0, y=5.0),),
        (PlotPoint(x=0.0, y=0.0), PlotPoint(x=1.0, y=-1.0), PlotPoint(x=100.0, y=1e6)),
        (PlotPoint(x=1.0, y=math.nan), PlotPoint(x=math.inf, y=1.0), PlotPoint(x=2.0, y=3.0, low=-math.inf, high=4.0)),
        (PlotPoint(x=1.0, y=1e308), PlotPoint(x=2.0, y=5e-324), PlotPoint(x=3.0, y=1.0, low=0.0, high=2.0)),
        tuple(PlotPoint(x=2.0, y=7.0) for _ in range(3)),
    ],
    ids=["nothing", "one", "zeros", "no numbers", "extremes", "all alike"],
)
@pytest.mark.parametrize("log", [False, True])
def test_numbers_without_a_place_are_left_out(points: tuple[PlotPoint, ...], log: bool) -> None:
    text = svg(figure(PlotSeries(name="odd", shape="line", points=points), log=log))
    kept = [p for p in points if all(math.isfinite(v) and (v == 0 or 1e-200 < abs(v) < 1e200) for v in (p.x, p.y))]  # type: ignore[arg-type]
    assert [(m["x"], m["y"]) for m in marks(text)] == [(repr(p.x), repr(p.y)) for p in kept]
    assert "nan" not in text
    assert "inf" not in re.sub("data-[^ ]*", "", text)


@pytest.mark.slow
def test_very_many_cases_keep_their_marks_and_a_short_legend() -> None:
    names = tuple(f"a_rather_long_key={n} another_key={n * 7}" for n in range(500))
    points = tuple(PlotPoint(x=name, y=float(n + 1), entry="X-001") for n, name in enumerate(names))
    flat = svg(figure(PlotSeries(name="cases", shape="points", points=points), names=names))
    assert len(marks(flat)) == 500
    many = svg(figure(*(line(f"case {n}", shift=n) for n in range(60))))
    assert "and 48 more" in texts(many)
    for text in (flat, many):
        _, _, width, height = map(float, parsed(text).attrib["viewBox"].split())
        assert width == 576
        assert height < 1200


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
    text = svg(figure(), inline=True)
    assert "<style" not in text
    assert "style=" not in text
    assert "xmlns" not in text
    assert {"var(--ink", "var(--paper", "var(--grid", "var(--series-1", "var(--series-2"} == {
        *re.findall(r"var\(--[a-z0-9-]+", text)
    }
    ids = re.findall(r' id="([^"]+)"', text)
    assert all(name.startswith(figure().key) for name in ids)
    assert len({*ids}) == len(ids)
