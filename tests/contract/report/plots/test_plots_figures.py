"""The figures that follow from records: which there are, and of each mark its value, interval, n and words. What is
expected is computed here from what the runs printed."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import pytest

from tests.contract.report.plots import measured
from tests.contract.report.plots.plots_support import Seeded, drawn_data, marks
from tests.seams import Facts
from tests.stored import at, number_of

pytestmark = pytest.mark.slow


KEYS = [
    "ep-000-crossover-tflops",
    "ep-000-pairs-tflops",
    "ep-000-sweep-tflops",
    "ep-001-pairs-tflops",
    "ep-002-noise-tflops",
    "ep-004-sweep-tflops",
    "thread-best-tflops",
    "thread-forest",
]


def points(figure: Facts, name: str) -> list[Facts]:
    [found] = [s["points"] for s in figure.series if s["name"] == name]
    return [Facts(point) for point in found]


def told(points: Sequence[Facts]) -> list[tuple[object, ...]]:
    return [(p.x, p.y, p.low, p.high, p.n) for p in points]


def of_runs(x: float | str, values: Sequence[float]) -> tuple[object, ...]:
    """What a mark says of several runs: their median, the lowest and the highest, and how many there are."""
    return (x, pytest.approx(median(values)), min(values), max(values), len(values))


def by_topk(mode: str, run: int) -> dict[object, float]:
    return {config["topk"]: tflops for config, tflops in measured.modes(mode, run)}


def order(seeded: Seeded, entry: str) -> dict[str, list[int]]:
    """By the side of an A/B the numbers of its runs, as their rows have it."""
    found: dict[str, list[int]] = {}
    for path in sorted(at(seeded.folder / f"logbooks/ep/runs/{entry}").glob("*/run.json")):
        text = path.read_text()
        side = next(s for s in ("int8", "ep", "none") if f'mode": "{s}"' in text)
        found.setdefault(side, []).append(number_of(path.parent))
    return found


def test_there_is_a_figure_of_each_kind_and_none_of_what_failed(seeded: Seeded) -> None:
    found = seeded.figures()
    assert sorted(found) == KEYS
    for kind in {one.kind for one in found.values()}:
        assert {one.kind for one in seeded.figures("--kind", kind).values()} == {kind}
    assert sorted(seeded.figures("EP-000")) == KEYS[:3]
    for nothing in (["EP-003"], ["--metric", "time_s"], ["EP-001", "--metric", "time_s"]):
        assert seeded.cli("plot", *nothing).code == 2


def test_a_sweep(seeded: Seeded) -> None:
    figure = seeded.figures("EP-004")["ep-004-sweep-tflops"]
    [curve] = figure.series
    runs = [by_topk("none", run) for run in (1, 2, 3)]
    assert told(points(figure, curve["name"])) == [of_runs(float(k), [run[k] for run in runs]) for k in (1, 2, 4, 8)]
    assert (figure.x["name"], figure.y["name"], figure.y["unit"]) == ("topk", "tflops", "TF/s")
    for fact in ("EP-004", "topk=1", "219.4", "218.7", "219.9", "n=3"):
        assert fact in curve["points"][0]["said"]


def test_the_sides_over_an_axis_and_the_crossover(seeded: Seeded) -> None:
    found, sides = seeded.figures(), order(seeded, "EP-000")
    values = {(side, k): [by_topk(side, run)[k] for run in runs] for side, runs in sides.items() for k in (1, 2, 4, 8)}
    figure = found["ep-000-sweep-tflops"]
    for side in ("none", "ep"):
        assert told(points(figure, f"parallel_mode={side}")) == [
            of_runs(float(k), values[side, k]) for k in (1, 2, 4, 8)
        ]

    figure = found["ep-000-crossover-tflops"]
    answer = seeded.ok("compare", "EP-000", "--metric", "tflops", "--json").data["answer"]
    for point, f in zip(points(figure, "ep"), answer["findings"], strict=True):
        assert (point.x, point.n) == (float(f["case"]["topk"]), 12)
        assert [point.y, point.low, point.high] == [100 * value for value in (f["change"], *f["interval"])]
        assert point.said == f"EP-000 {f['sentence']}"
    assert "between topk=2 and 4" in figure.note
    assert (figure.y["name"], figure.y["unit"]) == ("change of tflops", "%")


def test_pairs_in_order_of_time(seeded: Seeded) -> None:
    found, sides = seeded.figures(), order(seeded, "EP-001")
    figure = found["ep-001-pairs-tflops"]
    for side, runs in sides.items():
        values_of = [measured.int8(side, run)[0][1] for run in runs]
        assert told(points(figure, side)) == [(n, v, None, None, 1) for n, v in enumerate(values_of, 1)]
    [f] = seeded.ok("compare", "EP-001", "--metric", "tflops", "--json").data["answer"]["findings"]
    assert figure.title == f"EP-001: tflops run by run, none → int8: {100 * f['change']:+.3g}%, better"


def test_noise_of_an_entry(seeded: Seeded) -> None:
    figure = seeded.figures()["ep-002-noise-tflops"]
    values = [measured.one("", run)[0][1] for run in range(1, 11)]
    assert told(points(figure, "runs")) == [(run, v, None, None, 1) for run, v in enumerate(values, 1)]
    assert [(p.x, p.y) for p in points(figure, "level before and after")] == [
        (1.0, median(values[:5])),
        (5.5, median(values[5:])),
        (10.0, median(values[5:])),
    ]
    assert "after run 5" in figure.note


def test_the_best_so_far_without_what_was_taken_back(seeded: Seeded) -> None:
    """Of one problem, the one that most entries measured: other sizes are never drawn as progress."""
    figure = seeded.figures()["thread-best-tflops"]
    assert [p["x"] for p in figure.series[0]["points"]] == ["EP-000", "EP-004"]
    assert "topk=1" in figure.title
    values = sorted(by_topk("none", run)[1] for run in order(seeded, "EP-000")["none"])
    first, second = (p.y for p in points(figure, "best so far"))
    assert first == pytest.approx(median(values))
    assert second >= first
    seeded.ok("edit", "EP-000", "--state", "void")
    after = seeded.figures()
    assert "thread-best-tflops" not in after, "EP-001 has topk=8, and EP-002 topk=2"
    assert not any(key.startswith("ep-000") or "EP-000" in f.entries for key, f in after.items())
    assert [*seeded.figures("EP-000")] == ["ep-000-sweep-tflops"], "its rows, and no answer"


def test_the_change_in_every_comparison(seeded: Seeded) -> None:
    figure = seeded.figures()["thread-forest"]
    answers = {i: seeded.ok("compare", i, "--json").data["answer"] for i in ("EP-001", "EP-000")}
    expected = [
        (entry, f["outcome"], *(100 * value for value in (f["change"], *f["interval"])))
        for entry, answer in answers.items()
        for f in answer["findings"]
        if f["metric"] == "tflops"
    ]
    shown = [(p["entry"], s["name"], p["y"], p["low"], p["high"]) for s in figure.series[1:] for p in s["points"]]
    assert sorted(shown) == sorted(expected)
    assert {p["x"] for s in figure.series[1:] for p in s["points"]} == {
        "EP-001 int8 against none: tflops",
        *(f"EP-000 ep against none at topk={k}: tflops" for k in (1, 2, 4, 8)),
    }


def test_each_picture_has_the_data_of_its_figure(seeded: Seeded) -> None:
    for figure in seeded.figures().values():
        found = [(mark.said, mark.entry) for mark in marks(seeded.picture(figure.key))]
        assert sorted(found) == sorted(drawn_data(figure)), figure.key
