"""Nothing takes a prediction for a measurement, whoever prints or edits what."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli, FixedClock
from tests.contract.predict.test_predictions_pages import PREDICT, A, block, measure

pytestmark = pytest.mark.slow


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
    assert status["answers"] == []
    assert moe("list", "--tried", "--json").data["tried"] == []
    assert "1 experiment" not in moe("sync", "--offline").out


def test_a_command_that_predicts_makes_no_experiment_a_measurement(moe: Cli, double: Path) -> None:
    assert moe("bench", "--json", "--", "predict", "--aot", "v5p-8", *A).error["message"] == "no benchmark 'predict'"
    assert moe("run", "--", str(double / "bench-core"), "predict", "--aot", "v5p-8", *A).code == 0
    [line] = moe("list", "--json").data
    assert (line["kind"], line["result"]) == ("experiment", "predicted, not measured: 8 ms (6.4 to 10.4)")
    assert moe("status", "--json").data["best"] == []


def test_measurements_and_predictions_have_entries_of_their_own(moe: Cli) -> None:
    assert moe(*PREDICT).code == 0
    measure(moe, *A)
    error = moe("run", "--id", "MOE-000", "--json", "--", "echo", "RESULT tflops=1").error
    assert error == {
        "code": "usage",
        "message": "cannot add a measurement to MOE-000, which holds predictions",
        "cause": "predictions and measurements are kept in separate entries",
        "hint": "start another entry: leave --id out, and add --continues MOE-000",
    }
    error = moe("predict", "--id", "MOE-001", "--json", "--", "--aot", "v5p-8", *A).error
    assert error["message"] == "cannot add a prediction to MOE-001, which holds measurements"


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
