"""`bench-core compare` as it is typed: the published command lines, and cases that do not fit in memory."""

import csv
import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_support import Outcome

from bench_core.cli.rows import with_suggestion
from bench_core.errors import MAKING_INPUTS
from bench_core.harness.case import Case
from bench_core.harness.record import Environment, Row
from bench_core.harness.run import row_of_error
from bench_core.routing.distribution import RoutingRequest
from bench_core.shapes import BenchPass, MoeShape
from bench_core.studies.study import Path as Way
from tests.breadth import wide

COMMANDS = Path(__file__).parent / "data" / "seed_compare.tsv"
SIZES = ["--seq", "4", "--mlp-dim", "6", "--experts", "4", "--topk-list", "2", "--dtype", "float32"]
NEEDS_LIBTPU = pytest.mark.skipif(sys.platform != "linux" or os.uname().machine != "x86_64", reason="no libtpu here")


@pytest.fixture
def compare(bench: Callable[..., Outcome]) -> Callable[..., Outcome]:
    return functools.partial(bench, "compare")


def _published() -> list[dict[str, str]]:
    with COMMANDS.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    return [dict(word.split("=", 1) for word in row["variables"].split()) for row in rows]


def test_the_published_lines_are_variables_alone() -> None:
    assert [line["BENCH_BATCH"] for line in _published()] == ["192", "1920", "1920"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [wide(0), wide(1), 2])
@pytest.mark.wide
def test_the_published_lines_run_at_a_small_shape(
    number: int, compare: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    line = _published()[number]
    for name, value in line.items():
        # 192 sequences are 3 here, and 1,920 are 30.
        small = {"BENCH_HIDDEN": "8", "BENCH_BATCH": str(int(value) // 64)} if name.startswith("BENCH_") else {}
        monkeypatch.setenv(name, small.get(name, value))
    outcome = compare(*SIZES, "--devices", "4", "--backend", "ragged_dot")
    assert outcome.code == 0, outcome.err
    assert [row["config"]["path"] for row in outcome.rows] == list(Way)
    size = int(line.get("BENCH_EP_AXIS_SIZE", "2"))
    for row in outcome.rows:
        config = row["config"]
        assert list(config)[:3] == ["path", "batch", "seq"]
        assert config["batch"] == int(line["BENCH_BATCH"]) // 64
        assert config["tokens"] == 4 * config["batch"]
        assert (config["hidden"], config["devices"]) == (8, 4)
        assert (config["iters"], config["warmup"]) == (int(line["BENCH_ITERS"]), int(line["BENCH_WARMUP"]))
        assert len(row["metrics"]["tokens_per_s"]["samples"]) == config["iters"]
        assert config["in_turn"] == f"baseline_dp + dp + dp_ep {outcome.rows[2]['config']['ep_size']}"
        assert row["labels"]["check"] == "passed"
        assert "BENCH_HIDDEN=8" in row["labels"]["variables"]
        assert [group["used"] for group in row["devices"]] == [4]
    baseline, dp, dp_ep = (row["labels"]["ran"] for row in outcome.rows)
    assert baseline.endswith("dp over 4 devices, the program of one device cut by XLA's partitioner")
    assert dp.endswith("dp over 4 x 1 devices (data x expert), shard_map")
    assert dp_ep.endswith(f"psum over {4 // size} x {size} devices (data x expert), shard_map")
    assert f"dp_ep {size} / dp " in outcome.err
    assert "no intervals: they take 7 timed calls" in outcome.err


@pytest.mark.parametrize(
    ("variables", "words", "message", "cause"),
    [
        ({"HIDDEN": "0"}, (), "--hidden 0 is not a usable size", "; BENCH_HIDDEN=0 set it"),
        ({"HIDDEN": "many"}, (), "BENCH_HIDDEN=many is not a whole number", "it gives --hidden its value"),
        ({"HIDDEN": "8", "HIDEN": "8"}, (), "the variable BENCH_HIDEN is not known", "BENCH_EP_AXIS_SIZE, "),
        ({"EP_AXIS_SIZE": "3"}, (), "--ep-size 3 does not fit 4 devices", "; BENCH_EP_AXIS_SIZE=3 set it"),
        ({}, ("--hidden", "many"), "invalid value for '--hidden'", "the type that the option takes"),
        ({}, ("--devices", "1"), "compare needs several devices", "over devices"),
        ({}, ("--devices", "64"), "--devices 64 asks for more devices than there are", "there are 8"),
        ({}, ("--aot", "v5p", "--devices", "8"), "--devices 8 asks for more devices than there are", "there are 4"),
    ],
)
def test_bad_requests_run_nothing(
    compare: Callable[..., Outcome],
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    words: tuple[str, ...],
    message: str,
    cause: str,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(f"BENCH_{name}", value)
    outcome = compare("--devices", "4", *words)
    assert (outcome.code, outcome.rows) == (2, [])
    first, second, _ = outcome.err.splitlines()
    assert first.startswith(f"error: {message}")
    assert cause in second


AOT = ["--bench-pass", "forward", "--topk-list", "1", "--batch", "2", "--seq", "16", "--aot"]


@NEEDS_LIBTPU
@pytest.mark.slow
@pytest.mark.wide
def test_experts_that_do_not_fit_on_each_device_fit_where_they_lie_apart(compare: Callable[..., Outcome]) -> None:
    """18 GiB of weights, on devices of 16 GiB."""
    sizes = ["--hidden", "16384", "--mlp-dim", "24576", "--experts", "8", "--backend", "ragged_dot"]
    outcome = compare(*AOT, "v5e-4", *sizes, "--path", "dp,dp_ep", "--ep-axis-sizes", "4")
    assert outcome.code == 1
    dp, dp_ep = outcome.rows
    assert (dp["config"]["path"], dp["config"]["aot"], dp["failed"]["reason"]) == ("dp", "v5e-4", "hbm")
    assert "exceeds available HBM (15.75G)" in dp["failed"]["message"]
    assert dp["observations"]["needed_bytes"] > 16 * 2**30
    assert dp_ep["metrics"]["hbm_bytes"]["samples"][0] < 5 * 2**30
    assert outcome.err.splitlines()[-1] == "topk 1 batch 2: dp failed (hbm), dp_ep 4 4.5 GiB per device"


def test_a_program_that_runs_out_of_memory_names_a_flag_to_try() -> None:
    case = Case(shape=MoeShape(), routing=RoutingRequest(), bench_pass=BenchPass.FORWARD_BACKWARD)
    environment = Environment(devices=(), software={}, host="here")

    def refused(*steps: str) -> Row:
        error = MemoryError("Out of memory allocating 153980098584 bytes.")
        for step in steps:
            error.add_note(step)
        return with_suggestion(row_of_error(case, environment, error), case)

    assert refused().labels == {"try": "--remat-mode expert_mlp"}
    assert refused(MAKING_INPUTS).labels == {"failed_while": MAKING_INPUTS}
