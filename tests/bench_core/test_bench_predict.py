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

from tests.breadth import wide

Bench = Callable[..., Outcome]

needs_libtpu = pytest.mark.skipif(sys.platform != "linux" or os.uname().machine != "x86_64", reason="no libtpu here")
SIZES = ["--tokens", "1024", "--hidden", "256", "--mlp-dim", "256", "--experts", "8", "--backend", "gmm"]


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
        (["--aot", "v5p", "--impl", "both", "--", "--topk", "1"], "A has 6 cases"),
        (["--aot", "v5p", "--", "--wrong"], "no such option: --wrong"),
        (["--aot", "v5p", "--stage-timing"], "no such option: --stage-timing"),
        (["--aot", "v5p", "--parallel-mode", "ep", "--processes", "2"], "--processes 2 is not served"),
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


@needs_libtpu
@pytest.mark.wide
def test_a_study_is_predicted(bench: Bench) -> None:
    """Rows carry the path as measured ones do; what is said of two paths stands on stderr."""
    sizes = ["--hidden", "256", "--mlp-dim", "256", "--experts", "8", "--batch", "8", "--topk", "2", "--backend", "gmm"]
    found = bench("compare", "--predict", "--aot", "v5p-8", *sizes, "--path", "dp,dp_ep")
    assert found.code == 0
    assert [row["config"]["path"] for row in found.rows] == ["dp", "dp_ep"]
    assert all(row["prediction"]["estimate"] > 0 and "metrics" not in row for row in found.rows)
    [said] = [line for line in found.err.splitlines() if line.startswith("predicted, ")]
    assert said.startswith("predicted, batch=8 topk=2: dp_ep 2 against dp: ")
