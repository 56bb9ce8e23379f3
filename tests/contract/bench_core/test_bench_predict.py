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

import pytest

from bench_core.predict.model import calibration
from tests.breadth import wide
from tests.contract.bench_core.cli_support import Outcome

Bench = Callable[..., Outcome]

needs_libtpu = pytest.mark.skipif(sys.platform != "linux" or os.uname().machine != "x86_64", reason="no libtpu here")
SIZES = ["--tokens", "1024", "--hidden", "256", "--mlp-dim", "256", "--experts", "8", "--backend", "gmm"]

SPREAD = [*SIZES, "--parallel-mode", "ep", "--aot", "v5p-8"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "predict needs --aot, the slice of TPUs to predict for"),
        (["--aot", "v3"], "--aot v3 is not known"),
        (["--aot", "v5p", "--published", "--backend", "gmm", "--tile", "128,128,128"], "--tile 128,128,128 cannot be"),
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
        assert prediction["bound"] < prediction["estimate"]
        assert (prediction["low"], prediction["high"], prediction["published"]) == (None, None, False)
        assert sum(prediction["terms"].values()) == pytest.approx(prediction["estimate"])
        assert prediction["calibration"] == calibration().name
        assert (prediction["fits"], prediction["vmem"]) == (True, "not checked")
        assert prediction["libtpu"] == row["software"]["libtpu"]
    assert a["prediction"]["program"] == b["prediction"]["program"]
    assert found.out.splitlines()[-1].startswith('PREDICTED {"word": "same program", "ratio": 1.0, ')
    # Nothing on it can be taken for a measurement.
    assert not {"tflops", "time_s", "estimate"} & found.results[0].keys()
    assert found.results[0]["prediction"] == "made"
    assert "lower bound: no call of the case is faster" in found.err
    assert "programs: of this version" in found.err


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
def test_published_programs(bench: Bench) -> None:
    """One device against four; what the logbooks do not describe is refused."""
    sizes = [*SIZES, "--impl", "fused_w13", "--bench-pass", "forward_backward", "--aot", "v5p-8", "--published"]
    found = bench("predict", *sizes, "--", "--parallel-mode", "ep")
    assert (found.code, [row["prediction"]["devices"] for row in found.rows]) == (0, [1, 4])
    assert all(row["config"]["published"] and row["config"]["tile"] == "512,1024,1024" for row in found.rows)
    assert "move_arguments" in found.rows[1]["prediction"]["terms"]
    assert found.out.splitlines()[-1].startswith("PREDICTED ")
    ring = bench("predict", *sizes, "--parallel-mode", "ep", "--ep-impl", "ring")
    assert ring.code == 1
    assert ring.rows[0]["prediction"]["refused"].startswith("unsupported: --published has no program with --ep-impl")


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
