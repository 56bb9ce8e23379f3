"""Compiling for TPUs that are not there: what needs no compiler, and a few cases that do."""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.contract.bench_core.cli_support import Outcome

VMEM_FLAG = "xla_tpu_scoped_vmem_limit_kib"
SIZES = ["--tokens", "16", "--hidden", "8", "--mlp-dim", "8", "--experts", "2", "--dtype", "float32"]

needs_libtpu = pytest.mark.skipif(sys.platform != "linux" or os.uname().machine != "x86_64", reason="no libtpu here")


@pytest.fixture
def bench(bench: Callable[..., Outcome]) -> Callable[..., tuple[int, list[dict], str]]:
    def run(*words: str) -> tuple[int, list[dict], str]:
        outcome = bench("hillclimb", *SIZES, *words)
        return outcome.code, outcome.rows, outcome.err

    return run


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--aot", "v3"], "--aot v3 "),
        (["--aot", "v5p", "--stage-timing"], "--stage-timing "),
        (["--aot", "v5p", "--profile", "d"], "--profile "),
        (["--compiler-flag", "effort=1.0"], "--compiler-flag 'effort=1.0' "),
        (["--compiler-flag", "xla_foo"], "--compiler-flag 'xla_foo' "),
        (["--compiler-flag", "xla_a=1", "--compiler-flag", "--xla_a=2"], "--compiler-flag xla_a "),
        pytest.param(["--compiler-flag", "xla_no_such_flag=1"], "the compiler refuses ", marks=pytest.mark.slow),
    ],
)
def test_bad_requests(bench: Callable[..., tuple[int, list[dict], str]], words: list[str], message: str) -> None:
    code, rows, err = bench(*words)
    assert (code, rows) == (2, [])
    assert f"error: {message}" in err.splitlines()[-3]


def test_without_libtpu_it_says_what_to_install(
    bench: Callable[..., tuple[int, list[dict], str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "libtpu", None)
    code, rows, err = bench("--aot", "v5p")
    assert (code, rows) == (2, [])
    assert "libtpu" in err.splitlines()[0]
    assert "pip install 'logbook-agent[tpu]'" in err.splitlines()[2]


@needs_libtpu
@pytest.mark.slow
def test_rows_of_compiled_cases(bench: Callable[..., tuple[int, list[dict], str]]) -> None:
    words = ["--aot", "v5e", "--backend", "gmm", "--null-route-frac", "0.25", "--seed", "3"]
    code, (row,), err = bench(*words, "--queue-mode", "prequeue")
    assert code == 0
    assert row["config"]["aot"] == "v5e-4"
    assert not {"iters", "warmup"} & set(row["config"])
    assert row["devices"] == []
    assert "libtpu" in row["software"]
    assert row["labels"]["check"] == "not run (compiled only)"
    assert set(row["metrics"]) <= {"hbm_bytes", "flops_inflation"}
    assert not {"time_s", "tflops", "tokens_per_s", "mfu"} & {*row["metrics"], *row["observations"]}
    seen = row["observations"]
    # 16 tokens with two slots each, a quarter of them null.
    assert seen["flops"] == 6 * 8 * 8 * 24
    assert seen["hbm_capacity_bytes"] == 16 * 2**30
    classes = ("argument_bytes", "output_bytes", "temporary_bytes", "code_bytes")
    assert row["metrics"]["hbm_bytes"]["samples"] == [sum(seen[name] for name in classes)]
    assert len(err.splitlines()) == 1


@needs_libtpu
@pytest.mark.slow
@pytest.mark.wide
def test_without_a_backend_the_row_says_which_one_it_was_given_and_why(
    bench: Callable[..., tuple[int, list[dict], str]],
) -> None:
    code, (given, refused), _ = bench("--aot", "v5p", "--topk-list", "1,2", "--quant-mode", "int8_real")
    assert code == 0
    for row in (given, refused):
        assert row["config"]["backend"] == "ragged_dot"
        assert "gmm cannot serve --quant-mode int8_real" in row["labels"]["default_backend"]
    code, (row,), _ = bench("--aot", "v5p")
    assert (code, row["config"]["backend"], row["config"]["tile"]) == (0, "gmm", "128,128,128")
    assert row["labels"]["ran"].endswith("compiled with tile 128,128,128")
    assert row["labels"]["default_backend"].startswith("gmm: up to 1.00 times the model FLOPs on TPU v5, ragged_dot ")


@needs_libtpu
@pytest.mark.slow
@pytest.mark.wide
def test_rows_of_cases_on_several_devices(bench: Callable[..., tuple[int, list[dict], str]]) -> None:
    """In the form that no CPU runs; and FLOPs are compared for one device, of which the compiler counts them."""
    words = ["--aot", "v5e-8", "--experts", "8", "--parallel-mode", "ep", "--dp-size", "2", "--ep-impl"]
    code, (row,), err = bench(*words, "ragged_all_to_all", "--bench-pass", "forward_backward")
    assert code == 0, err
    assert row["labels"]["compiled_for"] == "TPU v5 lite, 8 devices"
    assert row["labels"]["ran"].endswith("; ragged_all_to_all over 2 x 4 devices (data x expert), shard_map")
    assert row["config"]["devices"] == 8
    assert row["devices"] == []
    seen = row["observations"]
    assert seen["flops"] == 3 * 6 * 8 * 8 * 32
    ratio = row["metrics"]["flops_inflation"]["samples"][0]
    assert ratio == pytest.approx(seen["compiled_flops"] / (seen["flops"] / 8))
    # Tokens there, outputs back, and the gradients of both; the compiler sends the routing by itself, too.
    assert seen["compiled_ragged_all_to_all_count"] == 6
    assert seen["compiled_ring_bytes"] > seen["model_ring_bytes"] > 0
    assert " ragged-all-to-all of " in row["labels"]["collectives"]
    code, rows, err = bench("--aot", "v5e-8", "--experts", "60", "--parallel-mode", "ep")
    assert (code, rows) == (2, [])
    assert "use --ep-size 4 --dp-size 2" in err


@needs_libtpu
@pytest.mark.slow
def test_a_refused_case_says_why_and_what_helps(bench: Callable[..., tuple[int, list[dict], str]]) -> None:
    code, rows, _ = bench("--aot", "v5e", "--backend", "ragged_dot", "--compiler-flag", f"{VMEM_FLAG}=8")
    assert code == 1
    (row,) = rows
    assert row["failed"]["reason"] == "vmem"
    assert row["config"]["compiler_flag"] == f"{VMEM_FLAG}=8"
    assert row["observations"] == {"needed_bytes": None, "limit_bytes": None}
    assert row["labels"]["helps"] == f"--compiler-flag {VMEM_FLAG}=24576"
    code, (row,), _ = bench("--aot", "v5e", "--backend", "tiled")
    assert (code, row["failed"]["reason"]) == (1, "unsupported")


@needs_libtpu
@pytest.mark.slow
@pytest.mark.wide
def test_two_processes_at_once_and_nothing_but_their_own_words() -> None:
    command = [sys.executable, "-m", "bench_core", "hillclimb", *SIZES, "--aot", "tpu7x"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        for _ in range(2)
    ]
    for process in running:
        out, err = process.communicate()
        assert process.returncode == 0, err
        assert [line.partition(" ")[0] for line in out.splitlines()] == ["RESULT", "RESULT_JSON"]
        (line,) = err.splitlines()
        assert line.endswith("compiling for tpu7x-8")
