"""What pages, lists and the tally say of predictions, before and after their cases are measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli, FixedClock, index_of

pytestmark = pytest.mark.slow

A = ("--devices", "4", "--topk", "2", "--ep-impl", "psum")
B = ("--devices", "4", "--topk", "2", "--ep-impl", "all_to_all")
PREDICT = ("predict", "--title", "psum against all_to_all", "--", "--aot", "v5p-8", *A, "--", "--ep-impl", "all_to_all")
PREDICTED = """\
- Predicted:
  - all of these: fits into HBM, VMEM not checked; libtpu 0.0.42.1, calibration seeds; model 1, 4 x TPU v5 of v5p-8
    - note: nothing was run
  - A: predicted 8 ms (6.4 to 10.4), at least 3.2 ms
    - of this: grouped_matmul 5.6 ms, send 2.4 ms
  - B: predicted 12 ms (9.6 to 15.6), at least 4.8 ms
    - of this: grouped_matmul 8.4 ms, send 3.6 ms
    - note: it sends to all
  - B against A: loses, 0.67 times as fast by the model (from 1.2 on a direction is claimed)
"""
CHECKED = """\
- Checked:
  - A: measured 8.41 ms in MOE-001 (1 run); predicted / measured 0.95, inside the range, not faster than the bound
  - B: measured 12.6 ms in MOE-002 (1 run); predicted / measured 0.95, inside the range, not faster than the bound
  - B against A: loses was right: 0.67 times as fast
"""
BEFORE = """\
- Predicted before:
  - MOE-000, B: predicted 12 ms (9.6 to 15.6), measured 12.6 ms; predicted / measured 0.95, inside the range, \
not faster than the bound
"""


def measure(cli: Cli, *flags: str) -> None:
    assert cli("bench", "--", "hillclimb", *flags, "--iters", "3", "--warmup", "1").code == 0


def block(folder: Path, entry_id: str) -> str:
    text = (folder / "logbooks/moe.md").read_text()
    return text.partition(f"<!-- logbook:block {entry_id} ")[2].partition("<!-- logbook:end")[0].partition("\n")[2]


def test_a_prediction_and_its_measurement(moe: Cli, folder: Path, clock: FixedClock) -> None:
    done = moe(*PREDICT)
    assert (done.code, done.err) == (
        0,
        "MOE-000: A: predicted 8 ms (6.4 to 10.4), at least 3.2 ms; fits into HBM, VMEM not checked; libtpu 0.0.42.1,"
        " calibration seeds; model 1, 4 x TPU v5 of v5p-8\n"
        "MOE-000: B: predicted 12 ms (9.6 to 15.6), at least 4.8 ms; fits into HBM, VMEM not checked; libtpu 0.0.42.1,"
        " calibration seeds; model 1, 4 x TPU v5 of v5p-8\n"
        "MOE-000: B against A: loses, 0.67 times as fast by the model (from 1.2 on a direction is claimed)\n"
        f"recorded in {folder}/logbooks/moe.md\n",
    )
    page = block(folder, "MOE-000")
    assert page.startswith("### 2026-02-10 10:43 - MOE-000 psum against all_to_all (prediction)\n\n- Command: ")
    assert page.endswith(PREDICTED)
    assert "Result" not in page
    assert (
        "MOE-000  2026-02-10 10:43  finished  psum against all_to_all  predicted, not measured: B against A loses"
        in (moe("list").out)
    )
    clock.tick()
    measure(moe, *A)
    measure(moe, *B)
    assert block(folder, "MOE-000").endswith(PREDICTED + CHECKED)
    assert block(folder, "MOE-002").endswith(BEFORE)
    before = (folder / "logbooks/moe.md").read_text()
    assert moe("render").code == 0
    assert (folder / "logbooks/moe.md").read_text() == before


def test_a_prediction_that_came_too_late_is_shown_and_not_counted(moe: Cli, folder: Path, clock: FixedClock) -> None:
    measure(moe, *A)
    clock.tick()
    assert moe("predict", "--", "--aot", "v5p-8", *A).code == 0
    clock.tick()
    measure(moe, *A)
    assert (
        "measured 8.41 ms in MOE-002 (1 run); predicted / measured 0.95, inside the range, not faster than the bound;"
        in (block(folder, "MOE-001"))
    )
    assert "not counted: the case had been measured before, in MOE-000" in block(folder, "MOE-001")
    assert moe("predictions").out.startswith(
        "1 prediction, 0 checked by a later measurement\nnot counted: 1 made after their case had been measured\n"
    )


def test_the_tally_counts_each_prediction_once(moe: Cli, clock: FixedClock) -> None:
    assert moe("predictions").out == "no predictions; make one with: logbook predict -- --aot v5p-8 OPTIONS\n"
    for _ in range(2):
        assert moe(*PREDICT).code == 0
    clock.tick()
    measure(moe, *A)
    measure(moe, *B)
    tally = moe("predictions", "--json").data["tally"]
    assert tally == {
        "made": 2,
        "with_estimate": 2,
        "checked": 2,
        "made_late": 0,
        "other_libtpu": 0,
        "repeated": 2,
        "taken_back": 0,
        "median_error": pytest.approx(0.0486, abs=1e-4),
        "largest_error": pytest.approx(0.0486, abs=1e-4),
        "inside_range": 2,
        "with_range": 2,
        "bound_held": 2,
        "with_bound": 2,
        "directions_claimed": 1,
        "directions_checked": 1,
        "directions_right": 1,
        "said_not_to_fit": 0,
        "ran_nevertheless": 0,
    }


def test_what_does_not_count_checks_nothing(moe: Cli, folder: Path, clock: FixedClock) -> None:
    assert moe(*PREDICT).code == 0
    clock.tick()
    measure(moe, *A)
    assert "Checked" in block(folder, "MOE-000")
    assert moe("edit", "MOE-001", "--state", "void").code == 0
    assert "Checked" not in block(folder, "MOE-000")
    assert moe("edit", "MOE-001", "--state", "computed").code == 0
    assert moe("edit", "MOE-000", "--state", "void").code == 0
    assert "Predicted before" not in block(folder, "MOE-001")
    tally = moe("predictions", "--json").data["tally"]
    assert (tally["made"], tally["taken_back"]) == (0, 2)


def test_another_case_is_not_checked(moe: Cli, clock: FixedClock) -> None:
    assert moe(*PREDICT).code == 0
    clock.tick()
    measure(moe, "--devices", "8", "--topk", "2", "--ep-impl", "psum")
    measure(moe, "--devices", "4", "--topk", "4", "--ep-impl", "psum")
    assert moe("bench", "--env", "LIBTPU_INIT_ARGS=--x=1", "--", "hillclimb", *A).code == 0
    assert moe("predictions", "--json").data["tally"]["checked"] == 0


def test_what_another_libtpu_ran_is_shown_and_does_not_count(moe: Cli, folder: Path, clock: FixedClock) -> None:
    assert moe(*PREDICT).code == 0
    clock.tick()
    assert moe("bench", "--env", "DOUBLE_LIBTPU=0.0.30", "--", "hillclimb", *A).code == 0
    said = "libtpu 0.0.30 ran it, and the prediction is of libtpu 0.0.42.1"
    assert f"; not counted: {said}\n" in block(folder, "MOE-000")
    assert f", not faster than the bound; {said}\n" in block(folder, "MOE-001")
    found = moe("predictions", "--json").data
    assert (found["tally"]["checked"], found["tally"]["other_libtpu"]) == (0, 1)
    assert found["predictions"][0]["measured_with_libtpu"] == "0.0.30"
    assert "not counted: 1 whose case another libtpu ran" in moe("predictions").out
    # A measurement of the program that was predicted is what it is held against, although it is a later one.
    clock.tick()
    measure(moe, *A)
    found = moe("predictions", "--json").data
    assert (found["tally"]["checked"], found["tally"]["other_libtpu"]) == (1, 0)
    assert found["predictions"][0]["measured_in"] == "MOE-002"


def test_what_was_called_in_turn_is_the_case_that_was_predicted(moe: Cli, clock: FixedClock) -> None:
    assert moe("predict", "--", "--aot", "v5p-8", *A).code == 0
    clock.tick()
    measure(moe, *A, "--in-turn", "dp + ep")
    assert moe("predictions", "--json").data["tally"]["checked"] == 1


def test_show_as_json(moe: Cli, clock: FixedClock) -> None:
    assert moe(*PREDICT).code == 0
    clock.tick()
    measure(moe, *A)
    shown = moe("show", "MOE-000", "--json").data
    assert shown["kind"] == "prediction"
    assert shown["confidence"] is None
    assert [run["rows"] for run in shown["runs"]] == [[]]
    assert [p["labels"] for p in shown["runs"][0]["predictions"]] == [{"side": "A"}, {"side": "B"}]
    assert shown["checked"][0]["measured_in"] == "MOE-001"
    assert shown["checked"][1]["measured_s"] is None
    assert [c["entry"] for c in moe("show", "MOE-001", "--json").data["predicted_before"]] == ["MOE-000"]


def test_the_view_is_the_same_however_it_came_to_be(moe: Cli, folder: Path, clock: FixedClock) -> None:
    """After each step the blocks that were spliced are those of a view that is rendered as a whole."""
    view = folder / "logbooks/moe.md"
    steps = (
        ("bench", "--", "hillclimb", *A),
        PREDICT,
        ("bench", "--", "hillclimb", *B),
        ("bench", "--repeat", "2", "--", "hillclimb", *B),
        ("predict", "--", "--aot", "v5p-8", *B),
        ("edit", "MOE-002", "--state", "void"),
        ("note", "--title", "wrong", "--supersedes", "MOE-003"),
        ("edit", "MOE-002", "--state", "computed"),
        ("edit", "MOE-001", "--state", "abandoned"),
        ("edit", "MOE-001", "--state", "computed"),
        ("edit", "MOE-005", "--state", "void"),
    )
    for step in steps:
        clock.tick()
        assert moe(*step).code == 0, step
        spliced = view.read_text()
        for path in (index_of(folder), view):
            path.unlink(missing_ok=True)
        assert moe("render").code == 0
        assert view.read_text() == spliced, step
    assert "Predicted before" in block(folder, "MOE-002")


def test_status_and_issue_tell_of_predictions(moe: Cli, folder: Path, clock: FixedClock) -> None:
    assert "predictions" not in moe("status", "--json").data
    assert moe(*PREDICT).code == 0
    clock.tick()
    measure(moe, *A)
    assert moe("status", "--json").data["predictions"] == {
        "made": 2,
        "checked": 1,
        "median_error": pytest.approx(0.0486, abs=1e-4),
        "directions_checked": 0,
        "directions_right": 0,
    }
    assert moe("sync", "--offline", "out").code == 0
    issue, update = (folder / "out/issue.md").read_text(), (folder / "out/update-01.md").read_text()
    assert "1 experiment: 1 finished. " in issue
    assert "2 predictions, 1 checked by a later measurement. Error of predictions: median 4.9%, largest 4.9%;" in issue
    assert "| MOE-000 |" not in issue
    assert "| MOE-001 |" in issue
    assert "### MOE-000 psum against all_to_all (prediction)" in update
    assert PREDICTED.replace("- Predicted:", "- Predicted, not measured:") in update
    assert "- Predicted before:\n  - MOE-000, A: predicted 8 ms" in update


def test_predictions_spend_no_budget(moe: Cli, folder: Path) -> None:
    assert moe("criteria", "--add", "Two runs.").code == 0
    assert moe("criteria", "--predicate", "1={budget: {runs: 2}}").code == 0
    assert moe(*PREDICT).code == 0
    assert moe(*PREDICT).code == 0
    assert moe("criteria", "--json").data["criteria"][0]["computed"]["state"] == "unmet"


def test_a_tie_is_no_direction(moe: Cli, clock: FixedClock) -> None:
    assert moe(*PREDICT).code == 0
    clock.tick()
    measure(moe, *A)
    assert moe("bench", "--env", f"DOUBLE_SLOWER={1.05 / 1.5}", "--", "hillclimb", *B, "--iters", "3").code == 0
    [direction] = moe("predictions", "--json").data["directions"]
    assert (direction["word"], direction["measured_ratio"], direction["right"]) == ("loses", pytest.approx(1.0), False)
