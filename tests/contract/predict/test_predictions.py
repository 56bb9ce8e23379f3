"""`logbook predict` and `sweep --predict`: a prediction is recorded, chooses cases, and is no measurement."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.seams import Store

pytestmark = pytest.mark.slow

A = ("--devices", "4", "--topk", "2", "--ep-impl", "psum")
PREDICT = ("predict", "--title", "psum against all_to_all", "--", "--aot", "v5p-8", *A, "--", "--ep-impl", "all_to_all")
FORMS = """\
name: forms
question: Which form is the fastest?
command:
- bench-core
- hillclimb
- flags: [tokens, topk, ep_impl, devices, iters]
fixed: {tokens: 1024, devices: 4, iters: 3, topk: 2}
axes: {ep_impl: [psum, ring, all_to_all]}
compare: {axis: ep_impl, base: psum}
repeats: 2
metrics: [time_s]
confirm: 0
"""


def test_a_prediction_is_recorded_and_is_no_measurement(moe: Cli, folder: Path) -> None:
    assert moe(*PREDICT).code == 0
    shown = moe("show", "MOE-000", "--json", "--full").data
    assert shown["kind"] == "prediction"
    sides = shown["runs"][0]["predictions"]
    assert [side["labels"]["side"] for side in sides] == ["A", "B"]
    assert [side["prediction"]["estimate"] for side in sides] == [0.008, 0.012]
    assert "psum against all_to_all (prediction)" in (folder / "logbooks/moe.md").read_text()
    for words in (
        ("table", "MOE-000"),
        ("compare", "MOE-000/1", "MOE-000:B"),
        ("baseline", "--entry", "MOE-000", "--reason", "x"),
        ("run", "--id", "MOE-000", "--", "echo", "RESULT tflops=1"),
    ):
        assert moe(*words).code == 2, words
    assert moe("status", "--json").data["best"] == []
    assert moe("list", "--tried", "--json").data["tried"] == []


def test_what_can_win_is_run(moe: Cli, folder: Path) -> None:
    (folder / "recipes").mkdir()
    (folder / "recipes/forms.yaml").write_text(FORMS)
    dry = moe("sweep", "forms", "--predict", "v5p-8", "--dry-run", "--json").data
    assert (dry["id"], dry["runs"], dry["runs_saved"]) == (None, 4, 2)
    assert [case["word"] for case in dry["cases"]] == ["control", "can win", "cannot win"]
    assert moe("sweep", "forms", "--predict", "v5p-8").code == 0
    sweep = Store(folder).entry("MOE-001")
    assert (sweep.continues, sweep.recipe.without, sweep.recipe.runs) == ("MOE-000", ["ep_impl=all_to_all"], 4)
    assert {run.rows[0].config.ep_impl for run in Store(folder).runs("MOE-001")} == {"psum", "ring"}


def test_what_cannot_be_predicted(moe: Cli, folder: Path) -> None:
    assert "--aot" in moe("predict", "--json", "--", *A).error["hint"]
    assert moe("sweep", "dp-ep", "--predict", "v5p-8").code == 2
    assert moe("list", "--json").data == []
    assert moe("predict", "--", "--aot", "v5p-8", "--ep-impl", "ragged").code == 0
    [side] = moe("show", "MOE-000", "--json", "--full").data["runs"][0]["predictions"]
    assert side["prediction"]["estimate"] is None
