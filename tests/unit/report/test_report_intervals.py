"""Intervals as SVG: where the marks stand, what is said of them, and an axis for changes of very different size."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree as ET

import pytest

from logbook_agent.report.figures.elements import ValueScale
from logbook_agent.report.page.intervals import Interval, axis_svg, row_svg, scale_of


def interval(
    change: float | None, low: float | None = None, high: float | None = None, *, least: float = 0.01, said: str = "x"
) -> Interval:
    return Interval(change=change, low=low, high=high, least=least, outcome="open", said=said)


def drawn(row: Interval, scale: ValueScale) -> ET.Element:
    return ET.fromstring(row_svg(row, scale))  # noqa: S314 - our own


def share(text: str | None) -> float:
    assert text is not None
    return float(text.removesuffix("%"))


def test_marks_stand_where_the_numbers_are() -> None:
    row = interval(0.1, -0.05, 0.2)
    root = drawn(row, scale := scale_of([row]))
    circle, line, band = root.find("circle"), root.find("line[@class='reach']"), root.find("rect")
    assert circle is not None
    assert line is not None
    assert band is not None
    places = [share(line.get("x1")), 50.0, share(circle.get("cx")), share(line.get("x2"))]
    assert places == sorted(places)
    assert places == pytest.approx([scale.place(math.log(v)) for v in (0.95, 1, 1.1, 1.2)], abs=0.01)
    # The band of the minimum effect lies around no change.
    assert share(band.get("x")) + share(band.get("width")) / 2 == pytest.approx(50, abs=0.01)


@pytest.mark.parametrize("change", [None, -1.0, 0.0, 1e300, -0.9999999])
@pytest.mark.parametrize("ends", [(None, None), (-1.0, 1e300), (0.0, 0.0)])
def test_whatever_the_numbers_every_mark_is_on_the_axis(
    change: float | None, ends: tuple[float | None, float | None]
) -> None:
    for least in (0.0, 0.01, 5.0):
        row = interval(change, *ends, least=least)
        text = row_svg(row, scale_of([row, interval(0.02)])) + axis_svg(scale_of([row]))
        assert "nan" not in text
        assert all(0 <= float(place) <= 100 for place in re.findall(r'[^-\w]c?x[12]?="([-\d.e]+)%"', text))


def test_what_is_said_is_escaped() -> None:
    said = "\"><script>alert(1)</script> & '"
    root = drawn(interval(0.1, said=said), ValueScale(-1.0, 1.0))
    assert root.get("aria-label") == said
    assert root.get("role") == "img"
    assert root.find("script") is None
