import json
import shlex
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from bench_core.cli import main
from bench_core.gmm.default import ANYWHERE, default_backends
from bench_core.gmm.ragged_dot import RaggedDot
from bench_core.gmm.registry import BACKENDS
from bench_core.harness.environment import describe_environment
from bench_core.harness.record import Failure
from bench_core.harness.row import failed_row

SIZES = ["--tokens", "6", "--hidden", "5", "--mlp-dim", "3", "--experts", "3"]
# A backend that compiles in no time.
TINY = ["hillclimb", *SIZES, "--iters", "3", "--warmup", "0", "--backend", "ragged_dot"]


class Outcome:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def rows(self) -> list[dict]:
        lines = self.out.splitlines()
        return [json.loads(line.removeprefix("RESULT_JSON ")) for line in lines if "RESULT_JSON " in line]

    @property
    def results(self) -> list[dict[str, str]]:
        lines = [line for line in self.out.splitlines() if line.startswith("RESULT ")]
        return [dict(word.split("=", 1) for word in shlex.split(line)[1:]) for line in lines]


@pytest.fixture
def bench(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    def run(*words: str) -> Outcome:
        with pytest.raises(SystemExit) as exit_:
            main(list(words))
        out, err = capsys.readouterr()
        return Outcome(int(exit_.value.code or 0), out, err)

    return run


BAD = {
    "topk over experts": ("--topk 9 --experts 8", "--topk 9 is larger than --experts 8"),
    "topk in list": ("--topk-list 1,9", "--topk 9 is larger than --experts 8"),
    "both topk": ("--topk 2 --topk-list 1,2", "--topk and --topk-list cannot be given together"),
    "list of words": ("--topk-list 1,two", "--topk-list 1,two is not a list of whole numbers"),
    "empty list": ("--topk-list=", "--topk-list  is not a list of whole numbers"),
    "repeated topk": ("--topk-list 2,2", "--topk-list 2,2 names a value twice"),
    "no tokens": ("--tokens 0", "--tokens 0 is not a usable size"),
    "negative hidden": ("--hidden -4", "--hidden -4 is not a usable size"),
    "no mlp": ("--mlp-dim 0", "--mlp-dim 0 is not a usable size"),
    "no experts": ("--experts 0", "--experts 0 is not a usable size"),
    "no topk": ("--topk 0", "--topk 0 is not a usable size"),
    "negative shared": ("--shared-expert-dim -1", "--shared-expert-dim -1 is not a usable size"),
    "not a number": ("--tokens many", "invalid value for '--tokens'"),
    "dtype": ("--dtype float8", "--dtype float8 is not known"),
    "backend": ("--backend cutlass", "--backend cutlass is not known"),
    "impl": ("--impl best", "--impl best is not known"),
    "distribution": ("--distribution zipf", "--distribution zipf is not known"),
    "pass": ("--bench-pass backward", "--bench-pass backward is not known"),
    "quant mode": ("--quant-mode int4", "--quant-mode int4 is not known"),
    "parallel mode": ("--parallel-mode tp", "--parallel-mode tp is not known"),
    "iters": ("--iters 0", "--iters 0 is too small"),
    "warmup": ("--warmup -1", "--warmup -1 is too small"),
    "seed": ("--seed -1", "--seed -1 is not a usable seed"),
    "shared fused": ("--shared-fused", "--shared-fused changes nothing without a shared expert"),
    "pack": ("--routing-pack-strategy radix", "--routing-pack-strategy radix is not known"),
    "queue": ("--queue-mode later", "--queue-mode later is not known"),
    "prequeue backward": (
        "--queue-mode prequeue --bench-pass forward_backward",
        "--queue-mode prequeue cannot be combined with --bench-pass forward_backward",
    ),
    "both queues backward": (
        "--queue-mode both --bench-pass forward_backward",
        "--queue-mode prequeue cannot be combined with --bench-pass forward_backward",
    ),
    "router": ("--router elsewhere", "--router elsewhere is not known"),
    "router prequeue": (
        "--router inside --queue-mode prequeue",
        "--router inside cannot be combined with --queue-mode prequeue",
    ),
    "router null": (
        "--router inside --null-route-frac 0.1",
        "--router inside cannot be combined with --null-route-frac",
    ),
    "programs": ("--programs two", "--programs two is not known"),
    "programs backward": (
        "--programs stages --bench-pass forward_backward",
        "--programs stages cannot be combined with --bench-pass forward_backward",
    ),
    "programs prequeue": (
        "--programs stages_async --queue-mode prequeue",
        "--programs stages_async cannot be combined with --queue-mode prequeue",
    ),
    "programs auto": (
        "--programs stages --parallel-mode dp --dp-impl auto",
        "--programs stages cannot be combined with --dp-impl auto",
    ),
    "programs chunks": (
        "--programs stages --parallel-mode ep --ep-impl all_to_all --chunks 2",
        "--programs stages cannot be combined with --chunks 2",
    ),
    "remat": ("--remat-mode all", "--remat-mode all is not known"),
    "remat forward": ("--remat-mode combine", "--remat-mode combine changes nothing in --bench-pass forward"),
    "null": ("--null-route-frac 1", "--null-route-frac 1.0 is not a usable fraction"),
    "negative null": ("--null-route-frac -0.1", "--null-route-frac -0.1 is not a usable fraction"),
    "nan null": ("--null-route-frac nan", "--null-route-frac nan is not a usable fraction"),
    "null list": ("--null-route-frac-list 0.1,half", "--null-route-frac-list 0.1,half is not a list of numbers"),
    "repeated null": ("--null-route-frac-list 0.1,0.10", "--null-route-frac-list 0.1,0.10 names a value twice"),
    "two nulls": (
        "--null-route-frac 0.1 --null-route-sweep",
        "--null-route-frac and --null-route-sweep cannot be given together",
    ),
    "null mode": ("--null-routing-mode some", "--null-routing-mode some is not known"),
    "run alpha": ("--distribution runs --run-alpha 1", "--run-alpha 1.0 is not a usable chance"),
    "run noise": ("--distribution runs --run-noise-scale -1", "--run-noise-scale -1.0 is not a usable scale"),
    "idle run alpha": ("--run-alpha 0.9", "--run-alpha changes nothing in --distribution random"),
    "capacity without factor": ("--capacity-policy drop", "--capacity-policy drop needs --capacity-factor"),
    "factor without capacity": ("--capacity-factor 2", "--capacity-factor 2.0 changes nothing without a capacity"),
    "zero factor": ("--capacity-policy pad --capacity-factor 0", "--capacity-factor 0.0 is not a usable factor"),
    "capacity policy": ("--capacity-policy spill", "--capacity-policy spill is not known"),
    "stages backward": (
        "--stage-timing --bench-pass forward_backward",
        "--stage-timing cannot be combined with --bench-pass forward_backward",
    ),
    "stages prequeue": (
        "--stage-timing --queue-mode both",
        "--stage-timing cannot be combined with --queue-mode prequeue",
    ),
    "stages cut by XLA": (
        "--stage-timing --parallel-mode dp --dp-impl auto",
        "--stage-timing cannot be combined with --dp-impl auto",
    ),
    "stages with a router": (
        "--stage-timing --router inside",
        "--stage-timing cannot be combined with --router inside",
    ),
    "stages of stages": ("--stage-timing --programs stages", "--stage-timing cannot be combined with --programs"),
    "more chunks than tokens": (
        "--parallel-mode ep --ep-impl all_to_all --devices 4 --tokens 32 --chunks 9",
        "--chunks 9 are more than the tokens of a device",
    ),
    "stages in chunks": (
        "--stage-timing --parallel-mode ep --ep-impl all_to_all --chunks 2",
        "--stage-timing cannot be combined with --chunks",
    ),
    "ahead of time": ("--aot v3", "--aot v3 is not known"),
    "tile": ("--backend gmm --tile 8", "--tile 8 is not a tile"),
    "row tiles": ("--backend tiled --row-tiles 8,many", "--row-tiles 8,many are not row tiles"),
    "row tiles that rise": ("--backend tiled --row-tiles 8,32", "--row-tiles 8,32 are not usable tiles"),
    "row tiles of none": ("--backend tiled --row-tiles 0", "--row-tiles 0 are not usable tiles"),
    "row tiles elsewhere": ("--backend gmm --row-tiles 8", "--row-tiles 8 changes nothing with --backend gmm"),
    "row tiles alone": ("--row-tiles 8", "--row-tiles 8 changes nothing without --backend tiled"),
    "tile alone": ("--tile 8,128,128", "--tile 8,128,128 changes nothing without --backend gmm"),
    "abbreviated": ("--tok 4", "no such option: --tok"),
    "argument": ("forward", "got unexpected extra argument"),
}


@pytest.mark.parametrize(("words", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_one_clear_error(bench: Callable[..., Outcome], words: str, message: str) -> None:
    outcome = bench("hillclimb", *words.split())
    assert outcome.code == 2
    assert outcome.out == ""
    error, cause, hint = outcome.err.splitlines()
    assert error.startswith(f"error: {message}")
    assert cause.startswith("  cause: ")
    assert hint.startswith("  next: ")


def test_whole_error(bench: Callable[..., Outcome]) -> None:
    assert bench("hillclimb", "--backend", "cutlass").err == (
        "error: --backend cutlass is not known\n"
        f"  cause: this version supports: {', '.join(BACKENDS)}\n"
        "  next: use --backend ragged_dot, or see bench-core hillclimb --list\n"
    )


@pytest.mark.parametrize("words", [[], ["roofline"], ["--loud"]])
def test_commands_that_do_not_exist(bench: Callable[..., Outcome], words: list[str]) -> None:
    outcome = bench(*words)
    assert outcome.code == 2
    assert len(outcome.err.splitlines()) == 3


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
        assert row["devices"] == [{"platform": "cpu", "kind": "cpu", "count": jax.device_count(), "used": 1}]
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


class _WrongForOne(RaggedDot.__base__):
    """Right except for one assignment per token, where it forgets a factor."""

    name, summary, arithmetic = RaggedDot.name, "wrong", RaggedDot.arithmetic

    def refusal(self, request):
        return None

    def forward(self, lhs, rhs, group_sizes):
        factor = 2.0 if lhs.shape[0] == 6 else 1.0
        return factor * RaggedDot().forward(lhs, rhs, group_sizes)

    def grad_lhs(self, cotangent, rhs, group_sizes):
        return RaggedDot().grad_lhs(cotangent, rhs, group_sizes)

    def grad_rhs(self, lhs, cotangent, group_sizes):
        return RaggedDot().grad_rhs(lhs, cotangent, group_sizes)


class _Raises(_WrongForOne):
    message = ""

    def forward(self, lhs, rhs, group_sizes):
        if lhs.shape[0] == 6:
            raise jax.errors.JaxRuntimeError(self.message)
        return RaggedDot().forward(lhs, rhs, group_sizes)


class _Exhausts(_Raises):
    message = "RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm."


class _ExhaustsCpu(_Raises):
    message = "INTERNAL: Error dispatching computation: Out of memory allocating 1 bytes."


class _Breaks(_Raises):
    message = "INTERNAL: something else."


class _Nan(_WrongForOne):
    def forward(self, lhs, rhs, group_sizes):
        return RaggedDot().forward(lhs, rhs, group_sizes) * (jnp.nan if lhs.shape[0] == 6 else 1.0)


class _Unsupported(_WrongForOne):
    def refusal(self, request):
        return f"needs a tpu, this is a {request.platform}"


def _install(monkeypatch: pytest.MonkeyPatch, backend: type) -> None:
    class Entry:
        @staticmethod
        def load(**_: object) -> object:
            return backend()

    monkeypatch.setattr("bench_core.harness.run.BACKENDS", {"ragged_dot": Entry})


@pytest.mark.parametrize(
    ("backend", "reason"),
    [
        (_WrongForOne, "check_failed"),
        pytest.param(_Nan, "non_finite_output", marks=pytest.mark.slow),
        pytest.param(_Exhausts, "out_of_memory", marks=pytest.mark.slow),
        pytest.param(_ExhaustsCpu, "out_of_memory", marks=pytest.mark.slow),
        pytest.param(_Breaks, "runtime_error", marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_a_failed_case_is_recorded_and_the_run_goes_on(
    bench: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch, backend: type, reason: str
) -> None:
    _install(monkeypatch, backend)
    outcome = bench(*TINY, "--topk-list", "1,2", "--dtype", "float32")
    assert outcome.code == 1
    failed, passed = outcome.rows
    assert failed["failed"]["reason"] == reason
    assert failed["metrics"] == {}
    assert failed["config"]["topk"] == 1
    assert "failed" not in passed
    assert [result["topk"] for result in outcome.results] == ["2"]
    assert f"failed ({reason})" in outcome.err
    assert "timing" not in outcome.err.split("topk=2")[0]
    if reason == "check_failed":
        assert failed["labels"]["check"] == "failed"
        assert failed["observations"]["error_ratio"] > 1


def test_a_backend_that_refuses_says_why(bench: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch, _Unsupported)
    outcome = bench(*TINY)
    assert outcome.code == 1
    assert outcome.rows[0]["failed"]["reason"] == "unsupported"
    assert "needs a tpu, this is a cpu" in outcome.rows[0]["failed"]["message"]


@pytest.mark.slow
def test_large_case_is_checked_at_a_reduced_shape(
    bench: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench_core.harness.case.CHECK_WORK", 1)
    outcome = bench(*TINY, "--hidden", "71", "--dtype", "float32")
    (row,) = outcome.rows
    assert row["labels"]["checked_at"] == "reduced shape"
    assert "hidden=63" in row["labels"]["checked_shape"]
    assert "hidden=71" not in row["labels"]["checked_shape"]


@pytest.mark.slow
def test_a_row_says_where_its_slots_went(bench: Callable[..., Outcome]) -> None:
    outcome = bench(*TINY, "--dtype", "float32", "--topk", "2", "--null-route-frac", "0.25", "--impl", "fast")
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


def test_every_axis_makes_its_cases(bench: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[dict] = []

    def take(request) -> bool:
        taken.extend(case.config() for case in request.cases)
        return True

    monkeypatch.setattr("bench_core.cli.hillclimb.run_cases", take)
    words = ("--impl", "both", "--queue-mode", "both", "--null-route-frac-list", "0,0.5", "--distribution", "both")
    assert bench(*TINY, *words).code == 0
    axes = ("distribution", "null_route_frac", "impl", "queue_mode")
    assert len(taken) == len({tuple(config[axis] for axis in axes) for config in taken}) == 2 * 2 * 6 * 2


@pytest.mark.slow
def test_stages_and_trace(bench: Callable[..., Outcome], tmp_path: Path) -> None:
    (row,) = bench(*TINY, "--stage-timing", "--profile", str(tmp_path / "trace"), "--quant-mode", "int8_real").rows
    seen = row["observations"]
    percents = [seen[f"stage_{stage}_percent"] for stage in ("pack", "up", "down", "combine")]
    assert sum(percents) == pytest.approx(100)
    assert seen["stage_up_s"] > 0
    assert len(list((tmp_path / "trace" / "case-1").rglob("perfetto_trace.json.gz"))) == 1


def test_int8_real_is_refused_where_there_is_no_integer_matmul(
    bench: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench_core.harness.run.INTEGER_PRODUCTS", {})
    (row,) = bench(*TINY, "--quant-mode", "int8_real").rows
    assert row["failed"] == {
        "reason": "unsupported",
        "message": "backend ragged_dot cannot serve --quant-mode int8_real, no backend can",
    }


def test_a_backend_that_is_not_named_is_the_first_that_serves_the_case(
    bench: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def run(case, *_):
        ran.append(case.config()["backend"])
        return failed_row(case, describe_environment(), Failure(reason="unsupported", message="not run"))

    monkeypatch.setattr("bench_core.harness.run.run_case", run)
    for words in ((), ("--quant-mode", "int8_real"), ("--backend", "gmm")):
        bench("hillclimb", *SIZES, *words)
    assert ran == ["tiled", "ragged_dot", "gmm"]
    assert [default_backends(platform, "")[0].name for platform in ("cpu", "gpu")] == ["tiled", ANYWHERE]


def test_int8_real_is_refused_where_a_sum_may_overflow(bench: Callable[..., Outcome]) -> None:
    (row,) = bench(*TINY, "--quant-mode", "int8_real", "--mlp-dim", "133145").rows
    assert row["failed"]["message"] == "--quant-mode int8_real cannot sum 133145 products"


def test_list_names_backends_and_impls(bench: Callable[..., Outcome]) -> None:
    outcome = bench("hillclimb", "--list")
    assert outcome.code == 0
    for name in ("  tiled (default): ", "ragged_dot", "baseline", "fused_w13", "bfloat16", "forward_backward"):
        assert name in outcome.out


@pytest.mark.slow
@pytest.mark.wide
def test_module_runs_as_a_command() -> None:
    import subprocess

    done = subprocess.run(
        [sys.executable, "-m", "bench_core", *TINY, "--quant-mode", "int8", "--dtype", "float32"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.count("RESULT ") == 1
