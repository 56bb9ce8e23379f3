"""`bench-core hillclimb`: rows, their numbers, and what they say of what ran."""

import json
import statistics
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contract.bench_core.cli_support import Outcome
from tests.seams import set_size

SIZES = ["--tokens", "6", "--hidden", "5", "--mlp-dim", "3", "--experts", "3"]
# A backend that compiles in no time.
TINY = ["hillclimb", *SIZES, "--iters", "3", "--warmup", "0", "--backend", "ragged_dot"]


@pytest.mark.slow
def test_result_and_json_describe_the_same_row(
    bench: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.json"
    monkeypatch.setenv("LOGBOOK_RESULT_FILE", str(path))
    outcome = bench(*TINY, "--topk-list", "1,3", "--dtype", "float32")
    assert outcome.code == 0
    assert json.loads(path.read_text()) == {"rows": outcome.rows}
    assert [row["config"]["topk"] for row in outcome.rows] == [1, 3]
    for row, result in zip(outcome.rows, outcome.results, strict=True):
        config = {name: str(value) for name, value in row["config"].items()}
        assert (config["shared_fused"], config["renormalize_real_after_null"]) == ("False", "False")
        config |= {"shared_fused": "false", "renormalize_real_after_null": "false"}
        assert dict(list(result.items())[: len(config)]) == config
        assert float(result["time_s"]) == sorted(row["metrics"]["time_s"]["samples"])[1]
        assert float(result["tflops"]) == sorted(row["metrics"]["tflops"]["samples"])[1]
        assert result["check"] == row["labels"]["check"] == "passed"
        assert row["devices"] == [{"platform": "cpu", "kind": "cpu", "count": 8, "used": 1}]
        assert row["observations"]["error_ratio"] <= 1
        assert row["observations"]["worst_error"] <= row["observations"]["worst_tolerance"]
        assert row["observations"]["max_abs_error"] >= row["observations"]["worst_error"]
        assert row["observations"]["flops"] == 6 * 5 * 6 * row["config"]["topk"] * 3
        assert row["observations"]["mfu"] is None
        assert set(row["software"]) == {"python", "jax", "jaxlib", "numpy"}
    assert outcome.err.splitlines()[0].startswith("[1/2] tokens=6 ")


@pytest.mark.slow
def test_every_summary_is_the_median_of_the_samples(bench: Callable[..., Outcome]) -> None:
    # With an even number of calls, the rate of the median time is not the median of the rates.
    outcome = bench(*TINY, "--iters", "4")
    (row,), (result,) = outcome.rows, outcome.results
    for name in ("time_s", "tflops", "tokens_per_s"):
        assert float(result[name]) == statistics.median(row["metrics"][name]["samples"])
    for name in ("tflops", "tokens_per_s"):
        # One device: the share is the total.
        assert row["observations"][f"{name}_per_device"] == float(result[name])


@pytest.mark.slow
def test_large_case_is_checked_at_a_reduced_shape(
    bench: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    set_size(monkeypatch, "work of a check", 1)
    outcome = bench(*TINY, "--hidden", "71", "--dtype", "float32")
    (row,) = outcome.rows
    assert row["labels"]["checked_at"] == "reduced shape"
    assert "hidden=63" in row["labels"]["checked_shape"]
    assert "hidden=71" not in row["labels"]["checked_shape"]


@pytest.mark.slow
def test_a_row_says_where_its_slots_went(bench: Callable[..., Outcome]) -> None:
    outcome = bench(*TINY, "--dtype", "float32", "--topk", "2", "--null-route-frac", "0.25", "--impl", "fused_w13")
    (row,) = outcome.rows
    seen = row["observations"]
    assert (seen["null_realized"], seen["null_assignments"], seen["real_assignments"]) == (0.25, 3, 9)
    assert (seen["dropped_assignments"], seen["dropped_fraction"]) == (0, 0)
    # Only real assignments count.
    assert seen["flops"] == 6 * 5 * 9 * 3
    assert seen["load_mean"] == 3
    assert seen["runs"] >= seen["run_max"] / 6
    assert row["config"]["null_route_frac"] == 0.25
    assert "no_effect" not in row["labels"]


@pytest.mark.slow
def test_padded_experts_count_with_their_capacity(bench: Callable[..., Outcome]) -> None:
    words = ("--capacity-policy", "pad", "--capacity-factor", "1.5", "--distribution", "runs", "--run-alpha", "0.9")
    outcome = bench(*TINY, "--dtype", "float32", *words)
    (row,) = outcome.rows
    # Twelve slots, three experts: capacity 6.
    assert row["observations"]["flops"] == 6 * 5 * 3 * 6 * 3
    seen = row["observations"]
    assert seen["real_assignments"] + seen["dropped_assignments"] == 12
    config = row["config"]
    assert (config["run_alpha"], config["run_noise_scale"], config["capacity_factor"]) == (0.9, 0.35, 1.5)


@pytest.mark.slow
def test_what_changes_nothing_is_labelled(bench: Callable[..., Outcome]) -> None:
    words = ("--bench-pass", "forward_backward", "--remat-mode", "combine", "--renormalize-real-after-null")
    (row,) = bench(*TINY, *words).rows
    assert row["labels"]["no_effect"] == "remat_mode, renormalize_real_after_null"
    (row,) = bench(*TINY, "--queue-mode", "prequeue", "--routing-pack-strategy", "tuple_sort").rows
    assert row["labels"]["no_effect"] == "routing_pack_strategy"


def test_every_axis_makes_its_cases(bench: Callable[..., Outcome]) -> None:
    words = ("--impl", "both", "--queue-mode", "both", "--null-route-frac-list", "0,0.5", "--distribution", "both")
    configs = [row["config"] for row in bench("roofline", *SIZES, "--aot", "v5p-8", *words).rows]
    axes = ("distribution", "null_route_frac", "impl", "queue_mode")
    assert len(configs) == len({tuple(config[axis] for axis in axes) for config in configs}) == 2 * 2 * 2 * 2


@pytest.mark.slow
def test_stages_and_trace(bench: Callable[..., Outcome], tmp_path: Path) -> None:
    (row,) = bench(*TINY, "--stage-timing", "--profile", str(tmp_path / "trace"), "--quant-mode", "int8_real").rows
    seen = row["observations"]
    percents = [seen[f"stage_{stage}_percent"] for stage in ("pack", "up", "down", "combine")]
    assert sum(percents) == pytest.approx(100)
    assert seen["stage_up_s"] > 0
    assert len(list((tmp_path / "trace" / "case-1").rglob("perfetto_trace.json.gz"))) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("words", "backend"), [((), "tiled"), (("--quant-mode", "int8_real"), "ragged_dot")])
def test_a_backend_that_is_not_named_is_the_first_that_serves_the_case(
    bench: Callable[..., Outcome], words: tuple[str, ...], backend: str
) -> None:
    (row,) = bench("hillclimb", *SIZES, "--iters", "1", "--warmup", "0", *words).rows
    assert row["config"]["backend"] == backend


def test_int8_real_is_refused_where_a_sum_may_overflow(bench: Callable[..., Outcome]) -> None:
    (row,) = bench(*TINY, "--quant-mode", "int8_real", "--mlp-dim", "133145").rows
    assert (row["failed"]["reason"], "133145" in row["failed"]["message"]) == ("unsupported", True)


def test_list_names_backends_and_impls(bench: Callable[..., Outcome]) -> None:
    outcome = bench("hillclimb", "--list")
    assert outcome.code == 0
    for name in ("  tiled (default): ", "ragged_dot", "baseline", "fused_w13", "bfloat16", "forward_backward"):
        assert name in outcome.out
