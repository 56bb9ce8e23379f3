"""The real `bench-core predict`: what it prints is read, recorded, and finds its measurement."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import pytest

from tests.conftest import Cli

SHAPE = ("--tokens", "512", "--hidden", "256", "--mlp-dim", "256", "--experts", "8", "--topk", "2")
EP = ("--parallel-mode", "ep", "--devices", "4", "--backend", "gmm", "--bench-pass", "forward_backward")


def recorded(cli: Cli, entry_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cli("show", entry_id, "--json", "--full").data["runs"][0]["predictions"]
    return found


def as_measured(prediction: dict[str, Any], times: float) -> list[str]:
    """A command that prints the row of a predicted case as if a TPU had measured it."""
    said = prediction["prediction"]
    config = {k: v for k, v in prediction["config"].items() if k != "aot"} | {"iters": 3, "warmup": 1}
    used = said["devices"]
    row = {
        "config": config,
        "metrics": {"time_s": {"samples": [times * said["estimate"]] * 3, "unit": "s"}},
        "devices": [{"platform": "tpu", "kind": said["device_kind"], "count": 4, "used": used}],
        "software": {"libtpu": said["libtpu"]},
    }
    return ["echo", f"RESULT_JSON {json.dumps(row)}"]


@pytest.fixture
def book(started: Cli) -> Cli:
    """A logbook of the tool with the benchmark that is installed beside it."""
    return started


@pytest.mark.slow
@pytest.mark.wide
def test_two_sides_and_their_measurement(book: Cli) -> None:
    done = book("predict", "--", "--aot", "v5p-8", *SHAPE, *EP, "--ep-impl", "psum", "--", "--ep-impl", "ring")
    assert done.code == 0, done.err
    sides = recorded(book, "MOE-000")
    assert [p["labels"]["side"] for p in sides] == ["A", "B"]
    assert all(p["prediction"]["low"] <= p["prediction"]["estimate"] <= p["prediction"]["high"] for p in sides)
    assert book("show", "MOE-000", "--json").data["runs"][0]["problems"] == []
    [pair] = [line for line in done.err.splitlines() if "B against A: " in line]
    said = json.loads(next(line for line in done.out.splitlines() if line.startswith("PREDICTED "))[10:])
    assert f"B against A: {said['word']}" in pair
    for side in sides:
        assert book("run", "--", *as_measured(side, 1.1)).code == 0
    tally = book("predictions", "--json").data["tally"]
    assert (tally["checked"], tally["median_error"]) == (2, pytest.approx(1 - 1 / 1.1))


@pytest.mark.slow
@pytest.mark.wide
def test_the_config_of_a_prediction_is_that_of_the_measurement(book: Cli) -> None:
    """Of a case that runs here: but for the target and the numbers of calls, both say the same."""
    forward = ("--parallel-mode", "ep", "--devices", "4", "--backend", "ragged_dot")
    flags = (*SHAPE, *forward, "--ep-impl", "psum", "--iters", "1")
    assert book("predict", "--", "--aot", "v5p-8", *flags).code == 0
    assert book("bench", "--", "hillclimb", *flags).code == 0
    [predicted] = recorded(book, "MOE-000")
    [measured] = book("show", "MOE-001", "--json", "--full").data["runs"][0]["rows"]
    beside = {"iters", "warmup"}
    assert {k: v for k, v in measured["config"].items() if k not in beside} == {
        k: v for k, v in predicted["config"].items() if k != "aot"
    }
    # A CPU is not what was predicted for.
    assert book("predictions", "--json").data["tally"]["checked"] == 0


@pytest.mark.slow
@pytest.mark.wide
def test_a_calibration_and_a_prediction_with_it(book: Cli) -> None:
    one = (*SHAPE, "--backend", "gmm", "--bench-pass", "forward_backward")
    assert book("predict", "--", "--aot", "v5p-8", *one).code == 0
    assert book("predict", "--", "--aot", "v5p-8", *one, "--shared-expert-dim", "2048").code == 0
    for entry_id, times in (("MOE-000", 1.3), ("MOE-001", 1.2)):
        [row] = recorded(book, entry_id)
        assert book("run", "--", *as_measured(row, times)).code == 0
    done = book("predict", "--calibrate", "MOE-002", "MOE-003", "--name", "one-chip")
    assert done.code == 0, done.err
    assert book("predict", "--calibration", "one-chip", "--", "--aot", "v5p-8", *one).code == 0
    [row] = recorded(book, "MOE-005")
    name, _, digest = row["prediction"]["calibration"].rpartition(", ")
    assert name == "one-chip (2 rows, libtpu " + row["prediction"]["libtpu"] + ")"
    # Of its file: one that was changed has another name.
    assert re.fullmatch(r"[0-9a-f]{8}", digest)
    # It was fitted on a measurement of the same case, so it is not counted.
    assert book("predictions", "--json").data["tally"]["made_late"] == 1


@pytest.mark.slow
@pytest.mark.wide
def test_a_recipe_that_is_predicted(book: Cli) -> None:
    done = book("sweep", "ep-forms", "--scale", "tiny", "--predict", "v5p-8", "--dry-run", "--json", "--set", "topk=2")
    assert done.code == 0, done.err
    # The tiny scale is of float32, of which no peak is published: nothing is claimed, and so all cases are left.
    assert [c["word"] for c in done.data["cases"]] == ["no prediction"] * 3


@pytest.mark.slow
def test_the_program_that_is_asked_is_there() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "bench_core", "predict", "--help"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert "--calibration" in found.stdout
