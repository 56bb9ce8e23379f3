"""What pages, lists and the tally say of predictions, before and after their cases are measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli, FixedClock

A = ("--devices", "4", "--topk", "2", "--ep-impl", "psum")
B = ("--devices", "4", "--topk", "2", "--ep-impl", "all_to_all")
PREDICT = ("predict", "--title", "psum against all_to_all", "--", "--aot", "v5p-8", *A, "--", "--ep-impl", "all_to_all")
PREDICTED = """\
- Predicted:
  - A: predicted 8 ms (6.4 to 10.4), at least 3.2 ms; fits into HBM, VMEM not checked; libtpu 0.0.42.1, \
calibration seeds; model 1, 4 x TPU v5 of v5p-8
    - of this: grouped_matmul 5.6 ms, send 2.4 ms
  - B: predicted 12 ms (9.6 to 15.6), at least 4.8 ms; fits into HBM, VMEM not checked; libtpu 0.0.42.1, \
calibration seeds; model 1, 4 x TPU v5 of v5p-8
    - of this: grouped_matmul 8.4 ms, send 3.6 ms
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
        "repeated": 2,
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
    assert moe("predictions", "--json").data["tally"]["made"] == 0


def test_another_case_is_not_checked(moe: Cli, clock: FixedClock) -> None:
    assert moe(*PREDICT).code == 0
    clock.tick()
    measure(moe, "--devices", "8", "--topk", "2", "--ep-impl", "psum")
    measure(moe, "--devices", "4", "--topk", "4", "--ep-impl", "psum")
    assert moe("bench", "--env", "LIBTPU_INIT_ARGS=--x=1", "--", "hillclimb", *A).code == 0
    assert moe("predictions", "--json").data["tally"]["checked"] == 0


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


# -- nothing takes a prediction for a measurement ----------------------------------------------------


def test_no_reader_counts_a_prediction(moe: Cli, folder: Path) -> None:
    assert moe(*PREDICT).code == 0
    for words in (
        ("table", "MOE-000"),
        ("compare", "MOE-000/1", "MOE-000:B"),
        ("compare", "MOE-000", "--axis", "ep_impl"),
        ("baseline", "--entry", "MOE-000", "--reason", "x"),
        ("edit", "MOE-000", "--confidence", "stable", "--reason", "x"),
    ):
        answer = moe(*words, "--json")
        assert answer.code == 2, words
    status = moe("status", "--json").data
    assert status["best"] == []
    assert status["settled"] == []
    assert moe("tried", "--json").data["tried"] == []
    assert "1 experiment" not in moe("sync", "--offline").out


@pytest.mark.parametrize("kind", ["experiment", "note", "decision"])
def test_another_kind_written_by_hand_makes_no_measurement(moe: Cli, folder: Path, kind: str) -> None:
    assert moe(*PREDICT).code == 0
    path = folder / "logbooks/moe/entries/MOE-000.yaml"
    path.write_text(path.read_text().replace("kind: prediction", f"kind: {kind}"))
    assert moe("render").code == 0
    assert moe("status", "--json").data["best"] == []
    assert moe("table", "MOE-000").code == 2
    assert PREDICTED in block(folder, "MOE-000")
    assert moe("predictions", "--json").data["tally"]["made"] == 2


def test_a_measurement_stays_one_in_an_entry_called_a_prediction(moe: Cli, folder: Path) -> None:
    measure(moe, *A)
    path = folder / "logbooks/moe/entries/MOE-000.yaml"
    path.write_text(f"{path.read_text()}kind: prediction\n")
    assert moe("status", "--json").data["best"][0]["entry"] == "MOE-000"
    assert moe("predictions").out.startswith("no predictions")


def test_a_command_that_predicts_is_not_run_as_an_experiment(moe: Cli) -> None:
    for words in (
        ("run", "--", "bench-core", "predict", "--aot", "v5p-8", *A),
        ("bench", "--", "predict", "--aot", "v5p-8", *A),
        ("noise", "--", "bench-core", "predict", "--aot", "v5p-8", *A),
    ):
        error = moe("--json", *words).error
        assert error["message"] == "bench-core predict measures nothing", words
        assert error["hint"] == "logbook predict -- --aot v5p-8 --devices 4 --topk 2 --ep-impl psum"
    assert moe("list", "--json").data == []


def test_measurements_and_predictions_have_entries_of_their_own(moe: Cli) -> None:
    assert moe(*PREDICT).code == 0
    measure(moe, *A)
    error = moe("run", "--id", "MOE-000", "--json", "--", "echo", "RESULT tflops=1").error
    assert error == {
        "code": "usage",
        "message": "MOE-000 is a prediction, so its runs can hold no measurements",
        "cause": "what is predicted and what was measured stand in entries of their own",
        "hint": "start another entry: leave --id out, and add --continues MOE-000",
    }
    error = moe("predict", "--id", "MOE-001", "--json", "--", "--aot", "v5p-8", *A).error
    assert error["message"] == "MOE-001 is no prediction, so its runs can hold no predictions"


def test_a_command_of_another_kind_that_prints_a_prediction(moe: Cli, folder: Path, clock: FixedClock) -> None:
    row = {
        "config": {"devices": 4, "topk": 2, "ep_impl": "psum"},
        "metrics": {"tflops": 900},
        "prediction": {
            "target": "v5p-8",
            "device_kind": "TPU v5",
            "devices": 4,
            "libtpu": "?",
            "model": 1,
            "estimate": 1,
        },
    }
    done = moe("run", "--", "echo", f"RESULT_JSON {json.dumps(row)}")
    assert done.code == 0
    assert (
        "0 rows, 1 prediction\n  problem: RESULT_JSON: a prediction measures nothing: its metrics were left out"
        in done.err
    )
    assert moe("list").out.rstrip().endswith("predicted, not measured: 1 s")
    assert moe("status", "--json").data["best"] == []


def test_what_cannot_be_predicted_is_said(moe: Cli, folder: Path) -> None:
    assert moe("predict", "--json", "--", *A).error == {
        "code": "usage",
        "message": "no TPU named to predict for",
        "cause": "--aot is missing among the options of bench-core predict",
        "hint": "add after --: --aot v5p-8",
    }
    assert moe("predict", "--json").error["message"] == "nothing to predict"
    assert moe("note", "--title", "x", "--kind", "prediction", "--json").error["message"] == (
        "a note cannot be a prediction"
    )
    done = moe("predict", "--", "--aot", "v5p-8", "--ep-impl", "ragged")
    assert done.code == 0
    assert "MOE-000: predicted nothing: unsupported: ragged is not compiled here;" in done.err
    assert "of this" not in block(folder, "MOE-000")
