"""`logbook plot`: what it prints and writes, what it refuses, which files it keeps, and when they are drawn again."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from tests.contract.report.plots.plots_support import Seeded

pytestmark = pytest.mark.slow


ENTRY = "EP-001"


PAIRS = "ep-001-pairs-tflops"


def plots(seeded: Seeded) -> Path:
    return seeded.folder / "logbooks/ep/plots"


def error(seeded: Seeded, *args: str, code: int = 2) -> tuple[str, str, str]:
    answer = seeded.cli("plot", *args, "--json")
    assert answer.code == code, answer
    found = answer.error
    return found["message"], found["cause"], found["hint"]


def test_json_has_the_data_of_the_figure_and_its_file(seeded: Seeded) -> None:
    [data] = seeded.ok("plot", ENTRY, "--kind", "pairs", "--json").data
    assert data["file"] == f"logbooks/ep/plots/{PAIRS}.svg"
    assert (data["key"], data["kind"], data["entry"], data["entries"]) == (PAIRS, "pairs", ENTRY, [ENTRY])
    assert [data["y"][name] for name in ("name", "unit", "log")] == ["tflops", "TF/s", False]
    assert [s["name"] for s in data["series"]] == ["none", "int8"]
    assert data["series"][-1]["points"][0].keys() == {"x", "y", "low", "high", "n", "entry", "said"}
    assert seeded.kept == [PAIRS]


def test_out_writes_one_picture_where_it_is_asked_for(seeded: Seeded, tmp_path: Path) -> None:
    (seeded.folder / "deep").mkdir()
    written = []
    for out in ("a.svg", "deep/b.svg", str(tmp_path / "c.svg")):
        [data] = seeded.ok("plot", ENTRY, "--kind", "pairs", "--out", out, "--json").data
        assert data["file"] == out
        written.append((seeded.folder / out).read_text())
    assert seeded.kept == [], "it is kept nowhere else"
    seeded.ok("plot", ENTRY, "--kind", "pairs")
    assert written == [seeded.picture(PAIRS)] * 3


def test_out_writes_the_data_as_csv(seeded: Seeded) -> None:
    [data] = seeded.ok("plot", ENTRY, "--kind", "pairs", "--out", "pairs.csv", "--json").data
    rows = [*csv.DictReader((seeded.folder / "pairs.csv").read_text().splitlines())]
    points = [(s["name"], p["x"], p["y"], p["entry"]) for s in data["series"] for p in s["points"]]
    assert [(r["series"], float(r["x"]), float(r["y"]), r["entry"]) for r in rows] == points
    assert {(r["low"], r["high"], r["n"]) for r in rows} == {("", "", "1")}


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (("EP-001", "--kind", "pair"), "--kind pair"),
        (("EP-003",), "EP-003"),
        (("EP-001", "--kind", "best"), "best of EP-001"),
        (("speed",), "speed"),
        (("speed", "--metric", "tflops"), "speed"),
        (("EP-000", "--out", "x.svg"), "--out"),
        (("EP-001", "--kind", "pairs", "--out", "x.png"), "x.png"),
        (("EP-077",), "EP-077"),
    ],
    ids=["kind", "failed", "not of it", "metric", "no entry", "several", "ending", "unknown"],
)
def test_what_it_refuses(seeded: Seeded, args: tuple[str, ...], named: str) -> None:
    message, _, hint = error(seeded, *args)
    assert named in message
    assert re.search("logbook|--kind", hint)
    assert not plots(seeded).exists()
    assert not (seeded.folder / "x.svg").exists()


def test_saved_plots_are_drawn_again_when_their_data_change(seeded: Seeded) -> None:
    seeded.ok("plot", "EP-002", "--save")
    seeded.ok("plot", "--kind", "best", "--kind", "forest", "--save")
    noise, best, forest = "ep-002-noise-tflops", "thread-best-tflops", "thread-forest"
    assert seeded.kept == [noise, best, forest]
    view = (seeded.folder / "logbooks/ep.md").read_text()
    assert f"(ep/plots/{noise}.svg)" in view
    assert f"(ep/plots/{best}.svg)" in view
    assert f"(ep/plots/{forest}.svg)" in view
    before = seeded.picture(noise), seeded.picture(best)

    seeded.run("--id", "EP-002", "--", "one")
    assert "run 11 in time order" not in before[0]
    assert "run 11 in time order" in seeded.picture(noise)

    seeded.run("--", "modes", "none")
    seeded.ok("edit", "EP-004", "--state", "void")
    assert 'href="#EP-004"' in before[1]
    assert 'href="#EP-004"' not in seeded.picture(best)
    assert 'href="#EP-005"' in seeded.picture(best)


def test_links_are_not_followed(seeded: Seeded, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "target.svg").write_text("theirs")
    plots(seeded).mkdir()
    (plots(seeded) / f"{PAIRS}.svg").symlink_to(outside / "target.svg")
    message, cause, _ = error(seeded, ENTRY, "--kind", "pairs", code=3)
    assert "symbolic link" in message + cause
    assert (outside / "target.svg").read_text() == "theirs"
    (plots(seeded) / f"{PAIRS}.svg").unlink()
    plots(seeded).rmdir()
    plots(seeded).symlink_to(outside)
    message, cause, _ = error(seeded, ENTRY, "--kind", "pairs", code=3)
    assert "symbolic link" in message + cause
    assert [p.name for p in outside.iterdir()] == ["target.svg"]
