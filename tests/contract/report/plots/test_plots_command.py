"""`logbook plot`: what it prints and writes, what it refuses, which files it keeps, and when they are drawn again."""

from __future__ import annotations

from pathlib import Path

import pytest

from logbook_agent.report.plots.svg import svg
from tests.contract.report.plots.plots_support import Seeded

pytestmark = pytest.mark.slow


ENTRY = "EP-001"


PAIRS, RATIOS = "ep-001-pairs-tflops", "ep-001-ratios-tflops"


def plots(seeded: Seeded) -> Path:
    return seeded.folder / "logbooks/ep/plots"


def error(seeded: Seeded, *args: str, code: int = 2) -> tuple[str, str, str]:
    answer = seeded.cli("plot", *args, "--json")
    assert answer.code == code, answer
    found = answer.error
    return found["message"], found["cause"], found["hint"]


def test_json_has_the_data_of_the_figure_and_its_file(seeded: Seeded) -> None:
    [data] = seeded.ok("plot", ENTRY, "--kind", "ratios", "--json").data
    figure = seeded.figures()[RATIOS]
    assert data["file"] == f"logbooks/ep/plots/{RATIOS}.svg"
    assert (data["key"], data["kind"], data["entry"], data["entries"]) == (RATIOS, "ratios", ENTRY, [ENTRY])
    assert (data["title"], data["note"]) == (figure.title, figure.note)
    assert data["y"] == {"name": "change of tflops", "unit": "%", "log": False}
    assert [(s["name"], s["shape"], len(s["points"])) for s in data["series"]] == [
        (s.name, s.shape, len(s.points)) for s in figure.series
    ]
    point, of = data["series"][-1]["points"][0], figure.series[-1].points[0]
    assert point == {"x": of.x, "y": of.y, "low": None, "high": None, "n": 1, "entry": ENTRY, "said": of.said}
    assert seeded.kept == [RATIOS]


def test_out_writes_one_picture_where_it_is_asked_for(seeded: Seeded, tmp_path: Path) -> None:
    expected = svg(seeded.figures()[RATIOS])
    (seeded.folder / "deep").mkdir()
    for out in ("a.svg", "deep/b.svg", str(tmp_path / "c.svg")):
        [data] = seeded.ok("plot", ENTRY, "--kind", "ratios", "--out", out, "--json").data
        assert data["file"] == out
        assert (seeded.folder / out).read_text() == expected
    assert seeded.kept == [], "it is kept nowhere else"


@pytest.mark.parametrize(
    ("args", "message", "cause", "hint"),
    [
        (
            ("EP-001", "--kind", "ratio"),
            "--kind ratio: no such kind of plot",
            "the kinds are sweep, controls, pairs, ratios, crossover, roofline, noise, best",
            "ratios",
        ),
        (("EP-003",), "nothing to plot: EP-003", "several", "logbook run --repeat 6 -- COMMAND"),
        (("EP-001", "--kind", "best"), "nothing to plot: best of EP-001", "pairs, ratios", "--kind pairs"),
        (("speed",), "nothing to plot: speed", "no measured row has the metric speed", "logbook table"),
        (("speed", "--metric", "tflops"), "speed is not an entry", "--metric chooses", "logbook plot tflops"),
        (("EP-001", "--out", "x.svg"), "--out takes one plot, and there are 2", f"{PAIRS}, {RATIOS}", "--kind"),
        (("EP-077",), "no entry EP-077", "ep holds EP-000 to EP-006", "logbook list"),
    ],
    ids=["kind", "failed", "not of it", "metric", "no entry", "several", "unknown"],
)
def test_what_it_refuses(seeded: Seeded, args: tuple[str, ...], message: str, cause: str, hint: str) -> None:
    found = error(seeded, *args)
    assert found[0] == message
    assert cause in found[1]
    assert hint in found[2]
    assert not plots(seeded).exists()
    assert not (seeded.folder / "x.svg").exists()


def test_saved_plots_are_drawn_again_when_their_data_change(seeded: Seeded) -> None:
    seeded.ok("plot", "EP-002", "--save")
    seeded.ok("plot", "--kind", "best", "--save")
    noise, best = "ep-002-noise-tflops", "thread-best-tflops"
    assert seeded.kept == [noise, best]
    view = (seeded.folder / "logbooks/ep.md").read_text()
    assert f"(ep/plots/{noise}.svg)" in view
    assert f"(ep/plots/{best}.svg)" in view
    before = seeded.picture(noise), seeded.picture(best)

    seeded.run("--id", "EP-002", "--", "one")
    assert seeded.picture(noise) == svg(seeded.figures()[noise])
    assert 'data-x="11.0"' in seeded.picture(noise)
    assert seeded.picture(noise) != before[0]

    seeded.ok("edit", "EP-000", "--state", "void")
    assert seeded.picture(best) == svg(seeded.figures()[best])
    assert 'data-entry="EP-000"' in before[1]
    assert 'data-entry="EP-000"' not in seeded.picture(best)


def test_links_are_not_followed(seeded: Seeded, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "target.svg").write_text("theirs")
    plots(seeded).mkdir()
    (plots(seeded) / f"{RATIOS}.svg").symlink_to(outside / "target.svg")
    message, cause, _ = error(seeded, ENTRY, "--kind", "ratios", code=3)
    assert "symbolic link" in message + cause
    assert (outside / "target.svg").read_text() == "theirs"
    (plots(seeded) / f"{RATIOS}.svg").unlink()
    plots(seeded).rmdir()
    plots(seeded).symlink_to(outside)
    message, cause, _ = error(seeded, ENTRY, "--kind", "ratios", code=3)
    assert "symbolic link" in message + cause
    assert [p.name for p in outside.iterdir()] == ["target.svg"]
