"""`bench-core predict`: its options, what it prints, and the processes that it starts."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_support import Outcome
from seed_rows import case_of

from bench_core.aot.targets import choose_target
from bench_core.predict import calibration
from bench_core.predict.model import seconds
from bench_core.predict.predicting import case_terms
from bench_core.predict.scheduled import Scheduled, schedule
from bench_core.predict.slice import slice_rates
from tests.breadth import wide

Bench = Callable[..., Outcome]

needs_libtpu = pytest.mark.skipif(sys.platform != "linux" or os.uname().machine != "x86_64", reason="no libtpu here")
SIZES = ["--tokens", "1024", "--hidden", "256", "--mlp-dim", "256", "--experts", "8", "--backend", "gmm"]

SHIPPED = calibration.seeds().json()

SPREAD = [*SIZES, "--parallel-mode", "ep", "--aot", "v5p-8"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "predict needs --aot, the slice of TPUs to predict for"),
        (["--aot", "v3"], "--aot v3 is not known"),
        (["--aot", "v5p", "--out", "f"], "--out f changes nothing without --calibrate"),
        (["--aot", "v5p", "--calibration", "none.json"], "--calibration none.json cannot be read"),
        (["--calibrate", "rows.json"], "--calibrate rows.json needs --out"),
        (["--calibrate", "rows.json", "--out", "."], "--out . cannot be written"),
        (["--calibrate", "rows.json", "--out", "rows.json"], "--out rows.json cannot be written"),
        (["--calibrate", "r.json", "--out", "f", "--topk", "4"], "--topk changes nothing beside --calibrate"),
        (
            ["--calibrate", "r.json", "--full", "--aot", "v5p", "--", "--topk", "4"],
            "-- and --aot and --full change nothing beside --calibrate",
        ),
        (["--calibrate", "none.json", "--out", "f.json"], "the rows of none.json make no calibration"),
        (["--aot", "v5p", "--", "--aot", "v5e"], "--aot cannot stand behind --"),
        (["--aot", "v5p", "--", "--topk-list", "1,2"], "B has 2 cases"),
        (["--aot", "v5p", "--impl", "both", "--", "--topk", "1"], "A has 2 cases"),
        (["--aot", "v5p", "--", "--wrong"], "no such option: --wrong"),
        (["--aot", "v5p", "--stage-timing"], "no such option: --stage-timing"),
        (["--aot", "v5p", "--experts", "6", "--parallel-mode", "ep"], "6 experts cannot be spread over 4 devices"),
    ],
)
@pytest.mark.sample(6)
def test_bad_requests(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    found = bench("predict", *words)
    assert (found.code, found.out) == (2, "")
    assert message in found.err.splitlines()[-3]


@pytest.mark.parametrize(
    ("document", "cause"),
    [
        ("{", "cannot be read"),
        ([], "is of format None and model None"),
        ({"format": 1, "model": 0}, "is of format 1 and model 0"),
        ({"format": 1, "model": 1, "name": "x"}, "is no calibration: it lacks or does not know constants, device_kind"),
        ({**SHIPPED, "more": 1}, "is no calibration: it lacks or does not know more"),
        ({**SHIPPED, "matmul_factor": "1.3"}, "matmul_factor cannot be '1.3'"),
        ({**SHIPPED, "routed_factor": -1.0, "tiles": "512"}, "routed_factor, tiles cannot be -1.0, '512'"),
        ({**SHIPPED, "most_sent": float("nan"), "constants": None}, "most_sent, constants cannot be nan, None"),
        ({**SHIPPED, "low": 5.0, "high": 6.0}, "an estimate is outside of its own range of 5 to 6"),
    ],
)
def test_files_that_are_no_calibration(bench: Bench, tmp_path: Path, document: Any, cause: str) -> None:
    path = tmp_path / "f.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    found = bench("predict", *SPREAD, "--calibration", str(path))
    assert (found.code, found.out) == (2, "")
    assert cause in found.err.splitlines()[0]


@needs_libtpu
@pytest.mark.slow
@pytest.mark.wide
def test_two_sides(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The way in which assignments are sorted does not reach the program of several devices."""
    monkeypatch.setenv("LOGBOOK_RESULT_FILE", str(tmp_path / "rows.json"))
    found = bench("predict", *SPREAD, "--iters", "3", "--", "--routing-pack-strategy", "tuple_sort")
    assert found.code == 0
    a, b = found.rows
    assert json.loads((tmp_path / "rows.json").read_text()) == {"rows": [a, b]}
    for row, side, strategy in ((a, "A", "argsort"), (b, "B", "tuple_sort")):
        assert row.keys() == {"config", "labels", "devices", "software", "host", "prediction"}
        # As in a row of hillclimb --aot.
        assert (row["config"]["aot"], row["config"]["routing_pack_strategy"]) == ("v5p-8", strategy)
        assert (row["config"]["devices"], "iters" in row["config"]) == (4, False)
        assert row["labels"]["side"] == side
        assert "psum over 1 x 4 devices" in row["labels"]["ran"]
        prediction = row["prediction"]
        assert prediction["bound"] < prediction["low"] <= prediction["estimate"] <= prediction["high"]
        assert sum(prediction["terms"].values()) == pytest.approx(prediction["estimate"])
        assert prediction["calibration"] == calibration.seeds().name
        assert (prediction["fits"], prediction["vmem"]) == (True, "not checked")
        assert prediction["libtpu"] == row["software"]["libtpu"]
    assert a["prediction"]["program"] == b["prediction"]["program"]
    assert found.out.splitlines()[-1].startswith('PREDICTED {"word": "same program", "ratio": 1.0, ')
    # Nothing on it can be taken for a measurement.
    assert not {"tflops", "time_s", "estimate"} & found.results[0].keys()
    assert found.results[0]["prediction"] == "made"
    assert "lower bound: no call is faster" in found.err


@needs_libtpu
@pytest.mark.wide
def test_cases_of_which_little_can_be_said(bench: Bench) -> None:
    words = [*SIZES, "--aot", "v5e", "--topk-list", "2,8", "--dtype", "float32"]
    found = bench("predict", *words)
    assert (found.code, len(found.rows)) == (0, 2)
    for row in found.rows:
        assert row["prediction"]["refused"] == "no float32 peak of a TPU is published"
        assert row["prediction"]["bound"] > 0
    assert [result["prediction"] for result in found.results] == ["refused"] * 2
    nothing = bench("predict", *SIZES, "--aot", "v5e", "--programs", "stages")
    [row] = nothing.rows
    assert nothing.code == 1
    assert row["prediction"]["refused"].startswith("unsupported: --programs stages cannot be combined with --aot")
    assert row["prediction"]["bound"] is None


@needs_libtpu
@pytest.mark.wide
def test_a_compilation_to_its_end_says_whether_vmem_is_enough(bench: Bench) -> None:
    found = bench("predict", *SIZES, "--aot", "v5e", "--full")
    [row] = found.rows
    assert row["prediction"]["vmem"] == "fits"


@needs_libtpu
@pytest.mark.wide
def test_a_kernel_that_is_too_large_for_vmem(bench: Bench) -> None:
    sizes = ["--tokens", "4096", "--hidden", "1024", "--mlp-dim", "1024", "--experts", "8", "--backend", "gmm"]
    found = bench("predict", *sizes, "--tile", "1024,4096,4096", "--aot", "v5p", "--full")
    assert found.rows[0]["prediction"]["vmem"] == "does not fit"


@needs_libtpu
@pytest.mark.wide
def test_factors_are_fitted_to_measured_rows(bench: Bench, tmp_path: Path) -> None:
    """Rows with the times that two factors give are fitted by these."""
    shared = ["--shared-expert-dim", "512"]
    target = choose_target("v5p-8")
    rates = slice_rates(target)
    assert rates is not None
    cases = [case_of(" ".join(words)) for words in ([*SIZES, *shared], SIZES)]
    rows: list[dict[str, Any]] = []
    for case, scheduled in zip(cases, schedule(cases, target), strict=True):
        assert isinstance(scheduled, Scheduled)
        parts = seconds(case_terms(case, scheduled), rates)
        time_s = 1.25 * parts.matmul + 1.75 * parts.routed
        rows.append(
            {
                "config": case.config(),
                "metrics": {"time_s": {"samples": [time_s], "unit": "s", "direction": "min"}},
                "devices": [{"platform": "tpu", "kind": target.device_kind, "count": 4, "used": 1}],
                "software": {"libtpu": scheduled.libtpu},
            }
        )
    file, out = tmp_path / "rows.json", tmp_path / "f.json"
    file.write_text(json.dumps({"rows": rows}))
    done = bench("predict", "--calibrate", str(file), "--out", str(out))
    assert done.code == 0
    assert "1.250 for plain matmuls (1.299 on the published rows), 1.750 for grouped ones" in done.err
    for number, row in enumerate(rows, start=1):
        [time_s] = row["metrics"]["time_s"]["samples"]
        assert f"row {number}: {time_s:.6g} s; with these factors {time_s:.6g} s" in done.err
    fitted = calibration.read(out)
    assert (fitted.matmul_factor, fitted.routed_factor) == pytest.approx((1.25, 1.75))
    assert fitted.libtpu == fitted.measured_with == rows[0]["software"]["libtpu"]
    found = bench("predict", *SIZES, "--aot", "v5p", "--calibration", str(out))
    assert found.rows[0]["prediction"]["estimate"] == pytest.approx(rows[1]["metrics"]["time_s"]["samples"][0])
    rows[0]["software"] = {"libtpu": "0.0.1"}
    rows[1]["software"] = {"libtpu": "0.0.1"}
    file.write_text(json.dumps(rows))
    refused = bench("predict", "--calibrate", str(file), "--out", str(out))
    assert refused.code == 2
    assert "libtpu 0.0.1 ran them, and installed is" in refused.err


def test_two_files_of_one_name_are_two_calibrations(tmp_path: Path) -> None:
    names = []
    for factor in (1.0, 1.5):
        (tmp_path / "f.json").write_text(json.dumps({**SHIPPED, "routed_factor": factor}))
        names.append(calibration.read(tmp_path / "f.json").name)
    assert len({*names, SHIPPED["name"]}) == 3
    assert all(name.startswith(f"{SHIPPED['name']}, ") for name in names)


def _row(**changes: Any) -> dict[str, Any]:
    device = {"platform": "tpu", "kind": "TPU v5", "count": 4, "used": 1}
    return {
        "config": case_of(" ".join(SIZES)).config(),
        "metrics": {"time_s": {"samples": [0.1]}},
        "devices": [device],
        "software": {"libtpu": "0.0.1"},
        **changes,
    }


@pytest.mark.parametrize(
    ("rows", "cause"),
    [
        ([_row()], "has 1 rows; two factors take 2 to 3"),
        ([_row()] * 4, "has 4 rows; two factors take 2 to 3"),
        ([_row(), _row(devices=[{"kind": "TPU v5", "used": 4}])], "row 2 was measured on several devices"),
        ([_row(), _row(metrics={})], "row 2 lacks 'time_s'"),
        ([_row(), _row(metrics={"time_s": {"samples": []}})], "row 2 has no times"),
        ([_row(), _row(software={})], "row 2 lacks 'libtpu'"),
        ([_row(), _row(config={"path": "dp"})], "row 2 has path, which no case of hillclimb has"),
        ([_row(), _row(software={"libtpu": "0.0.2"})], "with libtpu 0.0.1 and 0.0.2"),
        ([_row(), _row(devices=[{"kind": "TPU v5", "used": 0}])], "row 2 does not say which device it was measured on"),
        ([_row(), _row(metrics={"time_s": {"samples": [0.1, float("nan")]}})], "row 2 has no times"),
        ([_row(), _row(config={**_row()["config"], "iters": 9})], "row 1 and row 2 are of one case"),
        ([_row(devices=[{"kind": "TPU v1", "used": 1}])] * 2, "TPU v1 is no TPU that this version compiles for"),
    ],
)
def test_rows_that_make_no_calibration(bench: Bench, tmp_path: Path, rows: list[Any], cause: str) -> None:
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    found = bench("predict", "--calibrate", str(tmp_path / "rows.json"), "--out", str(tmp_path / "f.json"))
    assert (found.code, (tmp_path / "f.json").exists()) == (2, False)
    assert cause in found.err.splitlines()[1]


def _processes(folder: Path) -> list[int]:
    """Those whose temporary files are below `folder`."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"TMPDIR={folder}".encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
    return found


def _until(condition: Callable[[], bool], limit_s: float = 60.0) -> None:
    until = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.fixture
def predicting(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A command that compiles a large program."""
    words = [*SIZES[:1], "32768", "--hidden", "2048", "--mlp-dim", "2048", "--experts", "64", "--aot", "v5p-8"]
    command = [sys.executable, "-m", "bench_core", "predict", *words, "--full"]
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        yield process
        process.kill()


@needs_libtpu
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, wide(signal.SIGTERM), signal.SIGKILL], ids=lambda one: one.name)
@pytest.mark.wide
def test_nothing_is_left_behind(predicting: "subprocess.Popen[bytes]", tmp_path: Path, number: signal.Signals) -> None:
    """However it ends: no process that compiles, and no folder."""
    # The command, the process that imports JAX, and the one that compiles.
    _until(lambda: len(_processes(tmp_path)) == 3)
    assert list(tmp_path.glob("bench-core-predict-*"))
    predicting.send_signal(number)
    predicting.wait(60)
    _until(lambda: not _processes(tmp_path) and not list(tmp_path.iterdir()))
