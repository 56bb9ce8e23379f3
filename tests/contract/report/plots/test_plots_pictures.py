"""What stands where in a picture: marks at their values, labels that do not run into each other, axes, both themes."""

from __future__ import annotations

import re
from itertools import combinations, pairwise

import pytest

from tests.contract.report.plots.plots_support import SVG, Seeded, labels, marks, parsed, texts

pytestmark = pytest.mark.slow

_NESTED = re.compile(r'<svg class=plot viewBox="([^"]*)".*?</svg>', re.DOTALL)
# HTML can do without quotes around a value of plain characters, XML cannot.
_UNQUOTED = re.compile(r"=([\w#.-]+)(?=[ >])(?=[^<>]*>)")


def on_the_page(seeded: Seeded) -> list[str]:
    """The pictures of the page, as documents."""
    seeded.ok("report", "--out", "site")
    page = (seeded.folder / "site/ep.html").read_text()
    nested = [_UNQUOTED.sub(r'="\1"', found[0]) for found in _NESTED.finditer(page)]
    return [found.replace("<svg", f'<svg xmlns="{SVG[1:-1]}"', 1) for found in nested]


def test_no_label_runs_into_another_or_out_of_the_picture(seeded: Seeded) -> None:
    pictures = [*seeded.pictures().values(), *on_the_page(seeded)]
    assert len(pictures) == 8 + 2 * 7
    assert [found for picture in pictures for found in overlapping(picture)] == []


def overlapping(picture: str) -> list[object]:
    """Labels that run into each other or out of the picture."""
    left, top, width, height = map(float, parsed(picture).attrib["viewBox"].split())
    found = labels(picture)
    inside = [one for one in found if left - 1 <= one.left and one.right <= left + width + 1]
    inside = [one for one in inside if top <= one.top < one.bottom <= top + height]
    return [*(one for one in found if one not in inside), *(p for p in combinations(found, 2) if p[0].overlaps(p[1]))]


def test_very_many_cases_are_one_mark(seeded: Seeded) -> None:
    seeded.ok("start", "many", "--prefix", "M", "--metric", "a_rather_long_name_of_a_time:min:unit")
    rows = (f"RESULT a_rather_long_key=v{n}x{n * 7} a_rather_long_name_of_a_time=1.{n:03}\n" for n in range(400))
    (seeded.folder / "rows").write_text("".join(rows))
    seeded.ok("run", "-L", "many", "--", "cat", "rows")
    seeded.ok("plot", "-L", "many", "M-000", "--out", "many.svg")
    picture = (seeded.folder / "many.svg").read_text()
    assert (marks(picture), overlapping(picture)) == ([], [])
    assert picture.count("h0") == 400


def test_marks_stand_at_their_values(seeded: Seeded) -> None:
    """On a linear axis the same way for the same difference, upwards."""
    figure = seeded.figures("EP-001", "--kind", "pairs")["ep-001-pairs-tflops"]
    points = [p for s in figure.series for p in s["points"]]
    down = [mark.place[1] for mark in marks(seeded.picture(figure.key))]
    (a, low), *_, (b, high) = sorted((p["y"], at) for p, at in zip(points, down, strict=True))
    assert high < low
    for point, at in zip(points, down, strict=True):
        assert at == pytest.approx(low + (high - low) * (point["y"] - a) / (b - a), abs=0.2)


def test_an_axis_over_a_decade_is_logarithmic(seeded: Seeded) -> None:
    seeded.ok("start", "wide", "--prefix", "W", "--metric", "time_s:min:s")
    script = "for k in 1 10 100 1000; do echo RESULT tokens=$k time_s=0.$((k + 1000)); done"
    seeded.ok("run", "-L", "wide", "--", "sh", "-c", script)
    [data] = seeded.ok("plot", "W-000", "--out", "wide.svg", "--json").data
    assert (data["x"]["log"], data["y"]["log"]) == (True, False)
    picture = (seeded.folder / "wide.svg").read_text()
    across = [mark.place[0] for mark in marks(picture)]
    assert [b - a for a, b in pairwise(across)] == pytest.approx([across[1] - across[0]] * 3, abs=0.2)
    assert {"1", "10", "100", "1,000", "tokens", "time_s (s)"} <= {*texts(picture)}


def test_a_file_has_both_themes_its_title_and_its_note(seeded: Seeded) -> None:
    for key, figure in seeded.figures().items():
        picture = seeded.picture(key)
        root = parsed(picture)
        style = root.findtext(f"{SVG}style") or ""
        assert "@media (prefers-color-scheme:dark)" in style
        assert (root.findtext(f"{SVG}title"), root.findtext(f"{SVG}desc")) == (figure.title, figure.note)
        assert root.get("aria-label") == figure.title
        assert figure.title in " ".join(label.text for label in labels(picture))
        assert not re.search("<script|<foreignObject|<image|@import|url[(]", picture)
