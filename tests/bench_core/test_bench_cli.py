import json
import shlex
import statistics
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from bench_core.cli import main
from bench_core.gmm.ragged_dot import RaggedDot

SIZES = ["--tokens", "6", "--hidden", "5", "--mlp-dim", "3", "--experts", "3"]
TINY = ["hillclimb", *SIZES, "--iters", "3", "--warmup", "0"]


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
    "backend": ("--backend gmm", "--backend gmm is not known"),
    "impl": ("--impl fast", "--impl fast is not known"),
    "distribution": ("--distribution runs", "--distribution runs is not known"),
    "pass": ("--bench-pass backward", "--bench-pass backward is not known"),
    "quant mode": ("--quant-mode int8_real", "--quant-mode int8_real is not known"),
    "parallel mode": ("--parallel-mode ep", "--parallel-mode ep is not known"),
    "iters": ("--iters 0", "--iters 0 is too few"),
    "warmup": ("--warmup -1", "--warmup -1 is too few"),
    "seed": ("--seed -1", "--seed -1 is not a usable seed"),
    "shared fused": ("--shared-fused", "no such option: --shared-fused"),
    "pack": ("--routing-pack-strategy argsort", "no such option: --routing-pack-strategy"),
    "queue": ("--queue-mode full", "no such option: --queue-mode"),
    "remat": ("--remat-mode none", "no such option: --remat-mode"),
    "null": ("--null-route-frac 0.1", "no such option: --null-route-frac"),
    "stages": ("--stage-timing", "no such option: --stage-timing"),
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
    assert bench("hillclimb", "--backend", "gmm").err == (
        "error: --backend gmm is not known\n"
        "  cause: this version serves: ragged_dot\n"
        "  next: use --backend ragged_dot, or see bench-core hillclimb --list\n"
    )


@pytest.mark.parametrize("words", [[], ["overlap"], ["--loud"]])
def test_commands_that_do_not_exist(bench: Callable[..., Outcome], words: list[str]) -> None:
    outcome = bench(*words)
    assert outcome.code == 2
    assert len(outcome.err.splitlines()) == 3


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
        def load() -> object:
            return backend()

    monkeypatch.setattr("bench_core.harness.run.BACKENDS", {"ragged_dot": Entry})


@pytest.mark.parametrize(
    ("backend", "reason"),
    [
        (_WrongForOne, "check_failed"),
        (_Nan, "check_failed"),
        (_Exhausts, "out_of_memory"),
        (_ExhaustsCpu, "out_of_memory"),
        (_Breaks, "runtime_error"),
    ],
)
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


def test_large_case_is_checked_at_a_reduced_shape(
    bench: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench_core.harness.case.CHECK_WORK", 1)
    outcome = bench(*TINY, "--hidden", "71", "--dtype", "float32")
    (row,) = outcome.rows
    assert row["labels"]["checked_at"] == "reduced shape"
    assert "hidden=63" in row["labels"]["checked_shape"]
    assert "hidden=71" not in row["labels"]["checked_shape"]


def test_list_names_backends_and_impls(bench: Callable[..., Outcome]) -> None:
    outcome = bench("hillclimb", "--list")
    assert outcome.code == 0
    for name in ("ragged_dot", "baseline", "fused_w13", "bfloat16", "forward_backward"):
        assert name in outcome.out


@pytest.mark.slow
def test_module_runs_as_a_command() -> None:
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "bench_core", *TINY, "--quant-mode", "int8", "--dtype", "float32"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.count("RESULT ") == 1
