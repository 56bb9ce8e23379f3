"""The study of data against expert parallelism: its cases, its variables and its summary."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from bench_core.cli.compare import FLAGS, _study
from bench_core.cli.variables import by_variable, from_variables, naming_variables
from bench_core.errors import UsageError
from bench_core.harness.record import VIRTUAL, DeviceGroup, Environment, Failure, Measurement, Row
from bench_core.parallel.spread import DpImpl, EpImpl, ParallelMode
from bench_core.studies.study import Path, Study, read_paths
from bench_core.studies.summary import summarise

ONE_AXIS = (frozenset({"batch", "batch_list"}),)


def _asked(**asked: Any) -> Study:
    return _study({"hidden": 8, "mlp_dim": 8, "experts": 8, "seq": 4, **asked})


def test_the_defaults_are_those_of_the_published_study() -> None:
    study = _study({})
    assert study.paths == tuple(Path)
    assert (study.batches, study.seq, study.topks, study.ep_sizes) == ((192,), 128, (2, 8), (2,))
    entries = study.entries(4)
    assert {entry.case.shape.tokens for entry in entries} == {24576}
    assert {(entry.case.shape.hidden, entry.case.shape.experts) for entry in entries} == {(1024, 64)}


def test_cases_of_one_shape_stand_side_by_side() -> None:
    entries = _asked(batch_list="3,6", topk_list="1,2", ep_axis_sizes="2,4", ep_impl="ring").entries(4)
    names = ["baseline_dp", "dp", "dp_ep 2", "dp_ep 4"]
    assert [entry.name for entry in entries] == names * 4
    assert [(entry.case.shape.topk, entry.case.shape.tokens) for entry in entries[::4]] == [
        (1, 12),
        (1, 24),
        (2, 12),
        (2, 24),
    ]
    baseline, dp, two, four = (entry.case for entry in entries[:4])
    assert (baseline.parallel.mode, baseline.parallel.dp_impl) == (ParallelMode.DP, DpImpl.AUTO)
    assert (baseline.impl, dp.impl, two.impl) == ("baseline", "fused_w13", "fused_w13")
    assert [(case.parallel.dp_size, case.parallel.ep_size) for case in (two, four)] == [(2, 2), (1, 4)]
    assert {case.parallel.ep_impl for case in (two, four)} == {EpImpl.RING}
    # Every path uses all devices.
    assert {case.parallel.over(8, 8).devices for case in (baseline, dp, two, four)} == {4}


@pytest.mark.parametrize(
    ("asked", "devices", "message", "hint"),
    [
        ({}, 1, "compare needs several devices, and there is one", "use --devices 4"),
        (
            {"ep_axis_sizes": "3"},
            4,
            "--ep-size 3 does not fit 4 devices and 8 experts",
            "use --ep-axis-sizes 2,4",
        ),
        ({"ep_axis_sizes": "2,1"}, 4, "--ep-size 1 does not fit", "use --ep-axis-sizes 2,4"),
        ({}, 3, "--ep-size 2 does not fit 3 devices", "use --path baseline_dp,dp"),
    ],
)
def test_what_does_not_fit_the_devices(asked: dict[str, Any], devices: int, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as refused:
        _asked(**asked).entries(devices)
    assert refused.value.message.startswith(message)
    assert refused.value.hint.startswith(hint)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"batch": 0}, "--batch 0 is too small"),
        ({"seq": 0}, "--seq 0 is too small"),
        ({"batch": 10**22}, f"--batch {10**22} x --seq 4 are too many tokens"),
        ({"batch": 2**28, "topk_list": "1,2"}, f"--batch {2**28} x --seq 4 are too many tokens"),
        ({"batch": 1, "batch_list": "1,2"}, "--batch and --batch-list cannot be given together"),
        ({"topk": 1, "topk_list": "1,2"}, "--topk and --topk-list cannot be given together"),
        ({"ep_size": 2, "ep_axis_sizes": "2,4"}, "--ep-size and --ep-axis-sizes cannot be given together"),
        ({"batch_list": "1,x"}, "--batch-list 1,x is not a list of whole numbers"),
        ({"path": "dp,tp"}, "--path dp,tp is not known"),
        ({"path": "dp,dp"}, "--path dp,dp names a path twice"),
        ({"path": "dp", "ep_size": 2}, "--ep-size changes nothing with --path dp"),
        ({"path": "baseline_dp", "impl": "fast"}, "--impl changes nothing with --path baseline_dp"),
        ({"tile": "8,128,128"}, "--tile 8,128,128 changes nothing without --backend gmm"),
        ({"hidden": 0}, "--hidden 0 is not a usable size"),
        ({"devices": 0}, "--devices 0 is too small"),
    ],
)
def test_bad_requests(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        _asked(**asked)
    assert refused.value.message == message


def test_paths_that_are_not_asked_for_are_left_out() -> None:
    assert read_paths(["dp_ep", "dp"]) == (Path.DP, Path.DP_EP)
    # Without it no size of the expert axis has to fit.
    assert [entry.name for entry in _asked(path="dp,baseline_dp", topk=1).entries(3)] == ["baseline_dp", "dp"]


# -- variables


def _set_by(given: Mapping[str, Any] | None = None, **variables: str) -> dict[str, Any]:
    environ = {f"BENCH_{name}": value for name, value in variables.items()} | {"HOME": "/"}
    found = from_variables(environ, FLAGS, given or {}, same_axis=ONE_AXIS)
    return {name: value for name, (_, value) in found.items()}


def test_every_option_has_a_variable() -> None:
    names = set(by_variable(FLAGS))
    assert {flag.name for flag in by_variable(FLAGS).values()} == {flag.name for flag in FLAGS}
    assert names >= {f"BENCH_{name}" for name in ("HIDDEN", "BATCH", "SEQ", "WARMUP", "ITERS", "EP_AXIS_SIZE", "PASS")}


def test_variables_are_read_as_their_options_are() -> None:
    assert _set_by(BATCH="3", ITERS="1", WARMUP="0", DEVICES="2") == {
        "batch": 3,
        "iters": 1,
        "warmup": 0,
        "devices": 2,
    }
    assert _set_by(HIDDEN="64", TOPK_LIST="2,8", DTYPE="float32", COMPILER_FLAG="xla_a=1 xla_b=2") == {
        "hidden": 64,
        "topk_list": "2,8",
        "dtype": "float32",
        "compiler_flag": ["xla_a=1", "xla_b=2"],
    }
    assert _set_by(EP_AXIS_SIZE="2") == {"ep_size": 2}
    assert _set_by(EP_AXIS_SIZES="2,4") == {"ep_axis_sizes": "2,4"}


def test_an_option_wins_over_a_variable_and_over_another_one_of_its_axis() -> None:
    assert _set_by({"hidden": 8}, HIDDEN="64") == {}
    assert _set_by({"batch": 8}, BATCH_LIST="1,2") == {}
    assert _set_by({"batch": 8}, SEQ="4") == {"seq": 4}


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"HIDEN": "64"}, "the variable BENCH_HIDEN is not known"),
        ({"HIDDEN": "64k"}, "BENCH_HIDDEN=64k is not a whole number"),
        ({"BATCH": ""}, "the variable BENCH_BATCH is empty"),
        ({"EP_AXIS_SIZE": "2", "EP_SIZE": "4"}, "BENCH_EP_AXIS_SIZE=2 and BENCH_EP_SIZE=4 both set --ep-size"),
    ],
)
def test_bad_variables(variables: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        _set_by(**variables)
    assert refused.value.message.startswith(message)


def test_a_malformed_variable_is_refused_where_an_option_wins_over_it() -> None:
    with pytest.raises(UsageError, match="BENCH_HIDDEN=64k"):
        _set_by({"hidden": 8}, HIDDEN="64k")


def test_an_error_about_an_option_names_the_variable_that_set_it() -> None:
    error = UsageError("--hidden 0 is not a usable size", cause="it must be 1", hint="use 1")
    assert naming_variables(error, {"hidden": "BENCH_HIDDEN=0"}).cause == "it must be 1; BENCH_HIDDEN=0 set it"
    assert naming_variables(error, {"batch": "BENCH_BATCH=0"}) is error
    error = UsageError("--batch 0 is too small", cause="it must be 1", hint="use 1")
    named = naming_variables(error, {"batch_list": "BENCH_BATCH_LIST=0,1"}, same_axis=ONE_AXIS)
    assert named.cause == "it must be 1; BENCH_BATCH_LIST=0,1 set it"
    # What nobody has typed cannot be left out.
    error = UsageError("--ep-size changes nothing", cause="idle", hint="leave --ep-size out, or leave --path out")
    named = naming_variables(error, {"ep_size": "BENCH_EP_AXIS_SIZE=4"})
    assert named.hint == "unset BENCH_EP_AXIS_SIZE, or leave --path out"


# -- rows and summary


def _row(
    path: str, *, ep: int | None = None, batch: int = 2, tokens_per_s: list[float] | None = None, platform: str = "tpu"
) -> Row:
    config = {"path": path, "batch": batch, "topk": 2} | ({} if ep is None else {"ep_size": ep})
    devices = (DeviceGroup(platform=platform, kind="x", count=4, used=4),)
    row = Row(config=config, environment=Environment(devices=devices, software={}, host=""))
    if tokens_per_s is None:
        return replace(
            row, failed=Failure(reason="out_of_memory", message=""), labels={"try": "--remat-mode expert_mlp"}
        )
    metric = Measurement(samples=tuple(tokens_per_s), unit="tokens/s", direction="max")
    return replace(row, metrics={"tokens_per_s": metric})


def _around(rate: float) -> list[float]:
    return [float(rate + step) for step in range(-3, 4)]


def test_the_path_comes_first_and_of_figures_that_of_a_device() -> None:
    (entry,) = _asked(path="dp_ep", topk=2, batch=3).entries(2)
    row = Row(
        config={"tokens": 12, "ep_size": 2},
        environment=Environment(devices=(), software={}, host=""),
        summary={"tflops": 1.0, "tokens_per_s": 8.0, "time_s": 2.0},
        observations={"tokens_per_s_per_device": 4.0},
    )
    line, _ = entry.row(row).lines()
    expected = (
        "RESULT path=dp_ep batch=3 seq=4 tokens=12 ep_size=2 tokens_per_s_per_device=4.0 tokens_per_s=8.0 tflops=1.0"
    )
    assert line.startswith(expected)


def test_the_summary() -> None:
    rows = [
        _row("baseline_dp", tokens_per_s=_around(100)),
        _row("dp", tokens_per_s=_around(200)),
        _row("dp_ep", ep=2, tokens_per_s=_around(300)),
        _row("dp_ep", ep=4),
        _row("baseline_dp", batch=20, tokens_per_s=_around(1000)),
        _row("dp", batch=20, tokens_per_s=_around(8000)),
        _row("dp_ep", ep=2, batch=20, tokens_per_s=_around(4000)),
        _row("dp_ep", ep=4, batch=20),
    ]
    assert summarise(rows) == [
        "tokens/s per device (of all devices), medians:",
        "topk 2 batch 2: baseline_dp 25 (100), dp 50 (200), dp_ep 2 75 (300), "
        "dp_ep 4 failed (out_of_memory; try --remat-mode expert_mlp)",
        "  dp / baseline_dp 2 (1.91 to 2.09), dp_ep 2 / dp 1.5 (1.46 to 1.54)",
        "topk 2 batch 20: baseline_dp 250 (1,000), dp 2,000 (8,000), dp_ep 2 1,000 (4,000), "
        "dp_ep 4 failed (out_of_memory; try --remat-mode expert_mlp)",
        "  dp / baseline_dp 8 (7.97 to 8.03), dp_ep 2 / dp 0.5 (0.499 to 0.501)",
        "topk 2, dp / baseline_dp: dp is faster at every batch",
        "topk 2, dp_ep 2 / dp: the order changes between batch 2 and 20",
    ]


def test_what_virtual_devices_cannot_tell_is_said() -> None:
    assert summarise([_row("dp", tokens_per_s=[1.0], platform="cpu")])[-1] == VIRTUAL


def test_rows_that_were_compiled_have_their_memory() -> None:
    hbm = {"hbm_bytes": Measurement(samples=(1.5 * 2**30,), unit="bytes", direction="min")}
    compiled = replace(_row("dp", tokens_per_s=[1.0]), metrics=hbm)
    refused = replace(_row("dp_ep", ep=2), labels={"helps": "--x"})
    assert summarise([compiled, refused]) == [
        "topk 2 batch 2: dp 1.5 GiB per device, dp_ep 2 failed (out_of_memory; compiles with --x)"
    ]
