"""`logbook predict --calibrate`: factors from a few rows that the logbook measured, kept with it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import Cli


def measure(cli: Cli, devices: int, topk: int, *more: str) -> None:
    flags = ("--devices", str(devices), "--topk", str(topk), "--ep-impl", "psum", "--iters", "3")
    assert cli("bench", *more, "--", "hillclimb", *flags).code == 0


def test_a_calibration_is_made_kept_and_named(moe: Cli, folder: Path) -> None:
    measure(moe, 1, 2, "--repeat", "2")
    measure(moe, 1, 8)
    done = moe("predict", "--calibrate", "MOE-000", "MOE-001", "--name", "one-chip")
    assert (done.code, done.err) == (0, "next: logbook predict --calibration one-chip -- --aot v5p-8 ...\n")
    kept = folder / "logbooks/moe/calibrations"
    assert sorted(p.name for p in kept.iterdir()) == ["one-chip.json", "one-chip.rows.json"]
    rows = json.loads((kept / "one-chip.rows.json").read_text())["rows"]
    assert [(r["config"]["topk"], len(r["metrics"]["time_s"]["samples"])) for r in rows] == [(2, 6), (8, 3)]
    assert [r["labels"]["measured_in"] for r in rows] == ["MOE-000/1, MOE-000/2", "MOE-001/1"]
    entry = moe("show", "MOE-002", "--json").data
    assert (entry["kind"], entry["title"]) == ("prediction", "Calibration one-chip on MOE-000, MOE-001")
    assert entry["runs"][0]["command"] == (
        "bench-core predict --calibrate logbooks/moe/calibrations/one-chip.rows.json "
        "--out logbooks/moe/calibrations/one-chip.json"
    )
    done = moe("predict", "--calibration", "one-chip", "--", "--aot", "v5p-8", "--devices", "1", "--topk", "4")
    assert "libtpu 0.0.42.1, calibration one-chip; model 1, 1 x TPU v5 of v5p-8" in done.err
    assert moe("doctor").code == 0
    # A calibration that exists is named by predictions: it stays.
    again = moe("predict", "--calibrate", "MOE-000", "--name", "one-chip", "--json").error
    assert again["message"] == "the calibration one-chip exists"
    assert moe("predict", "--calibrate", "MOE-000/1", "MOE-001/1").err.startswith(
        "next: logbook predict --calibration calibration-1 "
    )


def test_what_makes_no_calibration(moe: Cli, folder: Path) -> None:
    measure(moe, 4, 2)
    assert moe("run", "--", "echo", "RESULT time_s=1").code == 0
    for topk in (2, 3, 4, 5):
        measure(moe, 1, topk, *(() if topk == 2 else ("--id", "MOE-002")))
    few = moe("predict", "--calibrate", "MOE-002/1", "--json").error
    assert few["message"] == "one case is too few for a calibration, which has two factors"
    for entry_id in ("MOE-000", "MOE-001"):
        error = moe("predict", "--calibrate", entry_id, "--json").error
        assert error["message"] == f"no row of {entry_id} can calibrate a prediction"
    assert moe("predict", "--calibrate", "MOE-002", "--json").error == {
        "code": "usage",
        "message": "4 cases are too many for a calibration, which takes at most 3",
        "cause": "they are MOE-002/1 (topk=2); MOE-002/2 (topk=3); MOE-002/3 (topk=4); MOE-002/4 (topk=5)",
        "hint": "choose by their config, not by their times, and name the runs: "
        "logbook predict --calibrate MOE-002/1 MOE-002/2 MOE-002/3",
    }
    assert moe("edit", "MOE-002", "--state", "void").code == 0
    error = moe("predict", "--calibrate", "MOE-002/1", "--json").error
    assert error["message"] == "MOE-002 does not count: it is void"
    error = moe("predict", "--calibrate", "MOE-000", "--json", "--", "--aot", "v5p-8").error
    assert error["message"] == "--calibrate predicts nothing, so it takes no options to predict with"
    assert moe("predict", "--name", "x", "--json").error["message"] == "--name needs --calibrate"
    assert moe("predict", "--calibrate", "MOE-000", "--name", "../x", "--json").error["message"] == (
        "--name '../x' is not a valid name"
    )
    assert not (folder / "logbooks/moe/calibrations").exists()
