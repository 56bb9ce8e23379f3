"""The command lines of the seeds: what a shell makes of them, and that `bench-core` takes and runs every one.

Sizes of the seeds need TPUs. Each distinct set of flags runs at a small size, on four virtual devices as on the four
chips of the seeds. The smoke tests and int8 with expert parallelism run with `gmm`, as they were typed, the others with
`ragged_dot` in its place, since `gmm` takes seconds to compile on a CPU. `make test-wide` runs all of them as typed.
"""

from __future__ import annotations

import itertools
import os
import statistics
import subprocess
from collections.abc import Iterable
from typing import Any

import pytest
import yaml

from tests.contract.seeds.bench import Answer, call_together
from tests.contract.seeds.support import LINES, Started, options_of, read_started, stand_ins, words_of

pytestmark = pytest.mark.slow

HILLCLIMB, OVERLAP, COMPARE = "bench_moe_hillclimb.py", "bench_moe_mlp_profile.py", "moe_impl_compare.py"
SMALL = {
    "--tokens": "24",
    "--hidden": "8",
    "--mlp-dim": "6",
    "--experts": "12",
    "--topk": "2",
    "--shared-expert-dim": "5",
    "--iters": "1",
}
# What a line without the flag means, so that two lines are one set of flags.
SAME = {
    "--distribution": "random",
    "--routing-pack-strategy": "argsort",
    "--queue-mode": "full",
    "--remat-mode": "none",
    "--quant-mode": "none",
    "--warmup": "1",
}
# No config of a row: how often it is timed, and what else is timed.
TIMING = ("--iters", "--warmup", "--stage-timing")
Options = dict[str, str]


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> list[list[Started]]:
    """What each line starts when a shell runs it, loops and heredocs included."""
    folder = tmp_path_factory.mktemp("seeds") / "work"
    folder.mkdir()
    environ = {**os.environ, **stand_ins(folder)}
    found = []
    for line in LINES:
        subprocess.run(["bash", "-c", line.line], cwd=folder, env=environ, check=False, capture_output=True, timeout=60)
        found.append(read_started(environ))
    return found


def distinct(started: Iterable[Iterable[Started]], script: str) -> list[Options]:
    """The requests to one benchmark, each once."""
    every = [one.options for line in started for one in line if one.script == script]
    return list({frozenset(options.items()): options for options in every}.values())


def small(options: Options) -> Options:
    """The same flags at sizes that take no time; a size of 0 stays 0. A sweep keeps its two ends."""
    found = {flag: SMALL.get(flag, value) if value != "0" else value for flag, value in options.items()}
    if found.pop("--null-route-sweep", None):
        found["--null-route-frac-list"] = "0.1,0.9"
    if "--topk-list" in found:
        found["--topk-list"] = "1,8"
    return found


def sets_of_flags(requests: Iterable[Options]) -> list[Options]:
    """The first request of each set of flags, whatever its sizes."""
    found: dict[frozenset[tuple[str, str]], Options] = {}
    for options in requests:
        key = frozenset(item for item in small(options).items() if SAME.get(item[0]) != item[1])
        found.setdefault(key, options)
    return list(found.values())


def configs(options: Options, *without: str) -> list[dict[str, Any]]:
    """What the rows of a request have to say, one for each case of its lists, sweeps and both queues."""
    axes = []
    for flag, value in options.items():
        key, values = flag[2:].replace("-", "_"), [value]
        if key.endswith("_list"):
            key, values = key.removesuffix("_list"), value.split(",")
        elif key == "null_route_sweep":
            key, values = "null_route_frac", [f"0.{n}" for n in range(1, 10)]
        elif (key, value) == ("queue_mode", "both"):
            values = ["full", "prequeue"]
        if flag not in without:
            axes.append([(key, yaml.safe_load(word)) for word in values])
    return [dict(pairs) for pairs in itertools.product(*axes)]


def assert_rows(answer: Answer, expected: list[dict[str, Any]]) -> None:
    """One row for each config, in any order."""
    assert answer["code"] == 0, answer["err"]
    rows = [{key: row["config"][key] for key in expected[0]} for row in answer["rows"]]
    assert sorted(rows, key=repr) == sorted(expected, key=repr)


def test_the_shell_expands_the_lines(started: list[list[Started]]) -> None:
    """All documents: 43 lines, 35 of them through the launcher; 97 different requests to hillclimb, 12 to the overlap
    harness, 3 to the comparison of paths, which is told by variables alone."""
    assert (len(LINES), sum(line.launched for line in LINES)) == (43, 35)
    assert [len(distinct(started, script)) for script in (HILLCLIMB, OVERLAP)] == [97, 12]
    compared = [one.variables for line in started for one in line if one.script == COMPARE]
    assert [(v["BENCH_BATCH"], v.get("BENCH_EP_AXIS_SIZE")) for v in compared] == [
        ("192", None),
        ("1920", "2"),
        ("1920", "4"),
    ]
    limits = {one.variables.get("LIBTPU_INIT_ARGS") for line in started for one in line}
    assert limits == {None, "--xla_tpu_scoped_vmem_limit_kib=50000"}


def test_every_line_is_parsed(started: list[list[Started]]) -> None:
    """All documents: the 97 lines, at the sizes of the seeds. With --list, options are read and nothing is run."""
    lines = [words_of(options) for options in distinct(started, HILLCLIMB)]
    answers = call_together(
        [["hillclimb", *words, "--list"] for words in [*lines, ["--null-route-swept"], ["--tokens=x"]]]
    )
    assert [(words, answer["err"]) for words, answer in zip(lines, answers, strict=False) if answer["code"]] == []
    assert [answer["code"] for answer in answers[-2:]] == [2, 2], "a line that is wrong is refused"


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.wide)])
def test_real_sizes_are_cases(started: list[list[Started]], every: bool) -> None:
    """All documents: each set of flags at its sizes on a v5p-8, with a row for each case of its sweep; nothing is
    compiled. `roofline` takes the options of hillclimb but --stage-timing."""
    lines = distinct(started, HILLCLIMB)
    asked = [
        {flag: value for flag, value in options.items() if flag != "--stage-timing"}
        for options in (lines if every else sets_of_flags(lines))
    ]
    answers = call_together([["roofline", "--aot", "v5p-8", *words_of(options)] for options in asked])
    for options, answer in zip(asked, answers, strict=True):
        assert_rows(answer, configs(options, *TIMING))


SMOKE = [n for n, line in enumerate(LINES) if line.name == "int8 02-10 10:43"]
PLANNED = next(
    n for n, line in enumerate(LINES) if line.name == "int8 02-10 10:55" and "--quant-mode int8" in line.line
)
NULLS = "--tokens 512 --topk 2 --backend ragged_dot --impl fused_w13 --null-route-frac 0.5 --iters 1"


def requests(started: list[list[Started]], mode: str, *, typed: bool) -> list[Options]:
    """The sets of flags of one parallel mode at small sizes; without those of the smoke lines."""
    lines = [line for n, line in enumerate(started) if n not in SMOKE]
    planned = small(started[PLANNED][0].options)
    found = [small(options) for options in sets_of_flags(distinct(lines, HILLCLIMB))]
    return [
        options if typed or options == planned else {**options, "--backend": "ragged_dot"}
        for options in found
        if options["--parallel-mode"] == mode
    ]


@pytest.mark.parametrize("mode", ["none", "ep"])
@pytest.mark.parametrize("typed", [False, pytest.param(True, marks=pytest.mark.wide)])
def test_every_set_of_flags_runs_to_rows(started: list[list[Started]], mode: str, typed: bool) -> None:
    """All documents: every flag and value of the 97 lines is measured, checked against the oracle, and stated."""
    asked = requests(started, mode, typed=typed)
    answers = call_together([["hillclimb", *words_of(options), "--devices", "4"] for options in asked])
    for options, answer in zip(asked, answers, strict=True):
        assert_rows(answer, configs(options, *TIMING[1:]))
        for row in answer["rows"]:
            assert row["labels"]["check"] == "passed"
            assert len(row["metrics"]["tflops"]["samples"]) == 1
            assert {"tokens_per_s", "time_s"} < row["metrics"].keys()
            assert row["devices"][0]["used"] == (4 if mode == "ep" else 1)
            stages = {f"stage_{stage}_percent" for stage in ("pack", "up", "down", "combine")}
            assert (stages <= row["observations"].keys()) == ("--stage-timing" in options)
            idle = row["config"]["queue_mode"] == "prequeue" and row["config"]["bench_pass"] != "forward"
            assert (row["labels"].get("no_effect") == "queue_mode") == idle, "15:46: only forward has two queues"


def test_smoke_lines_run_as_they_were_typed(started: list[list[Started]]) -> None:
    """Int8 10:43, three lines on a CPU, the last of which their harness could not run; null routing 14:50, two modes
    that realise about half of 1024 slots as null."""
    lines = [list(one.words) for n in SMOKE for one in started[n]]
    assert len(lines) == 3
    modes = [[*NULLS.split(), "--null-routing-mode", mode] for mode in ("independent", "take_until_null")]
    answers = call_together([["hillclimb", *words] for words in lines + modes])
    for words, answer in zip(lines + modes, answers, strict=True):
        assert_rows(answer, configs(options_of(tuple(words))))
        assert answer["rows"][0]["labels"]["check"] == "passed"
    for answer in answers[3:]:
        [seen] = [row["observations"] for row in answer["rows"]]
        assert seen["null_assignments"] + seen["real_assignments"] == 1024
        assert seen["null_realized"] == seen["null_assignments"] / 1024 == pytest.approx(0.5, abs=0.05)


COMPARED = "--batch 3 --seq 8 --hidden 8 --mlp-dim 6 --experts 12 --devices 4 --backend ragged_dot"


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.wide)])
def test_overlap_and_compare_measure_paths(started: list[list[Started]], every: bool) -> None:
    """EP benchmark 17:05 to 17:58: one line gives a row for each path, with totals and values per device. Grug 12:13 to
    12:27: variables choose sizes, timing and the expert axis; top-k 2 and 8, each as plain DP, ours, and DP with EP."""
    options = words_of(small(distinct(started, OVERLAP)[0]))
    compared = [one.variables for line in started for one in line if one.script == COMPARE]
    paths = [["baseline_dp", "dp", "dp_ep"]] * len(compared) if every else [["dp", "dp_ep"], ["dp_ep"], ["dp_ep"]]
    answers = call_together(
        [["overlap", *options, "--devices", "4", "--backend", "ragged_dot"]]
        + [
            [
                *(f"{name}={value}" for name, value in variables.items()),
                "compare",
                *COMPARED.split(),
                "--path",
                ",".join(some),
            ]
            for variables, some in zip(compared, paths, strict=True)
        ]
    )
    assert [answer["code"] for answer in answers] == [0] * 4, answers
    assert [row["config"]["path"] for row in answers[0]["rows"]] == ["ref_dp", "staged_dp", "fused_ep"]
    for row in answers[0]["rows"]:
        total = statistics.median(row["metrics"]["tflops"]["samples"])
        assert row["observations"]["tflops_per_device"] == pytest.approx(total / 4)
    for variables, some, answer in zip(compared, paths, answers[1:], strict=True):
        rows = [row["config"] for row in answer["rows"]]
        assert [(row["path"], row["topk"]) for row in rows] == [(path, topk) for path in some for topk in (2, 8)]
        axis = int(variables.get("BENCH_EP_AXIS_SIZE", "2"))
        assert {(row["dp_size"], row["ep_size"]) for row in rows[-2:]} == {(4 // axis, axis)}
        timing = {(str(row["iters"]), str(row["warmup"]), row["tokens"]) for row in rows}
        assert timing == {(variables["BENCH_ITERS"], variables["BENCH_WARMUP"], 24)}
