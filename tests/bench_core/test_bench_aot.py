"""Compiling for TPUs that are not there: what needs no compiler, and a few cases that do."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.aot.libtpu import captured_output
from bench_core.aot.refusals import Reason, Refusal, read_refusal
from bench_core.aot.remedy import VMEM_FLAG, find_remedy
from bench_core.aot.targets import TARGETS, choose_target
from bench_core.cli import main
from bench_core.device import keep_absent_tpus_quiet
from bench_core.errors import UsageError
from bench_core.harness.case import Case
from bench_core.harness.compiler_flags import CompilerFlags
from bench_core.harness.table import choices, table_case

KIB = 1024
SIZES = ["--tokens", "16", "--hidden", "8", "--mlp-dim", "8", "--experts", "2", "--dtype", "float32"]

needs_libtpu = pytest.mark.skipif(sys.platform != "linux" or os.uname().machine != "x86_64", reason="no libtpu here")


@pytest.fixture
def bench(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, list[dict], str]]:
    def run(*words: str) -> tuple[int, list[dict], str]:
        with pytest.raises(SystemExit) as exit_:
            main(["hillclimb", *SIZES, *words])
        out, err = capsys.readouterr()
        rows = [json.loads(line.partition(" ")[2]) for line in out.splitlines() if line.startswith("RESULT_JSON ")]
        return int(exit_.value.code or 0), rows, err

    return run


def test_targets_have_two_names() -> None:
    for name, target in TARGETS.items():
        assert choose_target(name) is target
        # A kind is its first: one host with four chips.
        assert choose_target(target.kind) is next(one for one in TARGETS.values() if one.kind == target.kind)
        assert choose_target(target.kind).chips == 4
    with pytest.raises(UsageError, match="--aot v3 is not known"):
        choose_target("v3")


@pytest.mark.parametrize(
    ("name", "chips", "links"),
    [
        ("v5p-8", 4, 2),
        ("v5p-16", 8, 3),
        ("v5p-64", 32, 5),
        # A whole cube is a torus.
        ("v5p-128", 64, 6),
        ("v5e-8", 8, 3),
        ("v6e-8", 8, 3),
        ("v6e-64", 64, 4),
    ],
)
def test_links_of_the_chip_with_the_most(name: str, chips: int, links: int) -> None:
    assert (TARGETS[name].chips, TARGETS[name].links) == (chips, links)


@pytest.mark.slow
@needs_libtpu
def test_the_compiler_knows_every_slice() -> None:
    words = "from bench_core.aot.libtpu import compile_devices; from bench_core.aot.targets import TARGETS; "
    words += "print([(t.name, len(compile_devices(t)), compile_devices(t)[0].device_kind) for t in TARGETS.values()])"
    said = subprocess.run([sys.executable, "-c", words], check=True, capture_output=True, text=True).stdout
    assert said.strip() == str([(t.name, t.chips * t.chip.devices, t.device_kind) for t in TARGETS.values()])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--aot", "v3"], "--aot v3 is not known"),
        (["--aot", "v5p", "--stage-timing"], "--stage-timing cannot be combined with --aot"),
        (["--aot", "v5p", "--profile", "d"], "--profile cannot be combined with --aot"),
        (["--compiler-flag", "effort=1.0"], "--compiler-flag 'effort=1.0' is not KEY=VALUE"),
        (["--compiler-flag", "xla_foo"], "--compiler-flag 'xla_foo' is not KEY=VALUE"),
        (["--compiler-flag", "xla_a=1", "--compiler-flag", "--xla_a=2"], "--compiler-flag xla_a is given twice"),
        (["--compiler-flag", "xla_no_such_flag=1"], "the compiler refuses a --compiler-flag"),
    ],
)
@pytest.mark.slow
def test_bad_requests(bench: Callable[..., tuple[int, list[dict], str]], words: list[str], message: str) -> None:
    code, rows, err = bench(*words)
    assert (code, rows) == (2, [])
    assert f"error: {message}" in err.splitlines()[-3]


def test_without_libtpu_it_says_what_to_install(
    bench: Callable[..., tuple[int, list[dict], str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench_core.aot.libtpu.importlib.util.find_spec", lambda name: None)
    code, rows, err = bench("--aot", "v5p")
    assert (code, rows) == (2, [])
    assert err.splitlines()[0] == "error: --aot needs libtpu, which is not installed"
    assert err.splitlines()[2] == "  next: pip install 'logbook-agent[tpu]'"


names = st.text(st.sampled_from("abcxyz_")).map(lambda text: f"xla_{text}")


@given(st.dictionaries(names, st.text(st.sampled_from("abc019=._,"), min_size=1)))
def test_flags_round_trip(flags: dict[str, str]) -> None:
    parsed = CompilerFlags.parse([f"{key}={value}" for key, value in flags.items()])
    assert dict(parsed.pairs) == flags
    assert CompilerFlags.parse(str(parsed).split()) == parsed


def test_flags_as_options() -> None:
    flags = CompilerFlags.parse(["--xla_b=true", "xla_a=50000", "xla_c=x"])
    assert flags.options() == {"xla_a": "50000", "xla_b": True, "xla_c": "x"}
    assert str(flags.adding("xla_a", "1")) == "xla_a=1 xla_b=true xla_c=x"


REFUSALS = {
    "scoped": (
        "RESOURCE_EXHAUSTED: E1001: CompileTimeScopedVmemOom:\nRan out of memory in memory space vmem while "
        "allocating on stack for %gmm.1. Scoped allocation with size 30.00M and limit 16.00M exceeded scoped vmem "
        "limit by 14.00M.",
        (Reason.VMEM, 30 * 2**20, 16 * 2**20),
    ),
    "vmem": (
        "RESOURCE_EXHAUSTED: Ran out of memory in memory space vmem. Used 34.5M of 16.00M vmem. Exceeded vmem capacity",
        (Reason.VMEM, 69 * 2**19, 16 * 2**20),
    ),
    "window": (
        "RESOURCE_EXHAUSTED: Allocation (size=134217728) would exceed memory (size=67108864) :: #allocation13 [shape = "
        "'u8[134217728]{0}', space=vmem, size = 0x8000000, scoped, tag = 'output window allocation']",
        (Reason.VMEM, 2**27, 2**26),
    ),
    "hbm": (
        "RESOURCE_EXHAUSTED: Ran out of memory on HBM, the total memory required for HLO temporaries (46.5G) exceeds "
        "available HBM (15.75G).",
        (Reason.HBM, 93 * 2**29, 63 * 2**28),
    ),
    "hbm without sizes": ("E1000: CompileTimeHbmOom: too much", (Reason.HBM, None, None)),
    "unsupported": ("UNIMPLEMENTED: no such thing", (Reason.UNSUPPORTED, None, None)),
    "unknown": ("INTERNAL: RET_CHECK failure (a.cc:2)", (Reason.COMPILE_ERROR, None, None)),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str) -> None:
    text, expected = REFUSALS[name]
    refusal = read_refusal(f"{text}\n\n [type.googleapis.com/x='\\x08']")
    assert (refusal.reason, refusal.needed_bytes, refusal.limit_bytes) == expected
    assert refusal.message == text


def _case() -> Case:
    return table_case("ragged_dot", choices(full=False)[0])


def _needs(needed_kib: int, last_kib: int) -> Callable[[Case], Refusal | None]:
    """A compiler whose first kernel needs `needed_kib` and whose last one needs `last_kib`."""

    def attempt(case: Case) -> Refusal | None:
        limit_kib = int(case.compiler_flags.get(VMEM_FLAG) or 16384)
        missing = next((kib for kib in (needed_kib, last_kib) if kib > limit_kib), None)
        sizes = {"needed_bytes": (missing or 0) * KIB, "limit_bytes": limit_kib * KIB}
        return None if missing is None else Refusal(reason=Reason.VMEM, message="", **sizes)

    return attempt


@pytest.mark.parametrize(
    ("target", "needed_kib", "last_kib", "tried", "helps"),
    [
        ("v5p", 30720, 30720, [32768], 32768),
        ("v5p", 30720, 52838, [32768, 65536], 65536),
        ("v5p", 30720, 70000, [32768], None),
        ("v5e", 30720, 70000, [32768, 98304], 98304),
        ("v4", 30720, 30720, [], None),
    ],
)
@pytest.mark.sample(2)
def test_more_vmem_is_tried_up_to_what_the_core_has(
    monkeypatch: pytest.MonkeyPatch, target: str, needed_kib: int, last_kib: int, tried: list[int], helps: int | None
) -> None:
    # What compiles is told by its type alone.
    monkeypatch.setattr("bench_core.aot.remedy.CompiledCase", type(None))
    attempt = _needs(needed_kib, last_kib)
    refusal = attempt(_case())
    assert refusal is not None
    remedy = find_remedy(_case(), refusal, choose_target(target), attempt)  # type: ignore[arg-type]
    flag = f"--compiler-flag {VMEM_FLAG}="
    assert remedy.tried == tuple(f"{flag}{limit}" for limit in tried)
    assert remedy.helps == (None if helps is None else f"{flag}{helps}")


def test_less_is_kept_where_hbm_was_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench_core.aot.remedy.CompiledCase", type(None))
    refusal, target = Refusal(reason=Reason.HBM, message=""), choose_target("v5e")
    case = replace(_case(), remat_mode=type(_case().remat_mode).NONE)
    assert find_remedy(case, refusal, target, lambda _: None).helps == "--remat-mode expert_mlp"  # type: ignore[arg-type, return-value]
    remedy = find_remedy(case, refusal, target, lambda _: refusal)
    assert (remedy.helps, remedy.tried) == (None, ("--remat-mode expert_mlp",))


def test_native_output_is_kept_away(capfd: pytest.CaptureFixture[str]) -> None:
    print("before", flush=True)
    with captured_output() as captured:
        os.write(1, b"one ")
        os.write(2, b"two")
    print("after", flush=True)
    assert captured.text == "one two"
    assert capfd.readouterr() == ("before\nafter\n", "")


def test_an_absent_tpu_is_not_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def chosen(**environ: str) -> str | None:
        keep_absent_tpus_quiet(environ, tmp_path)
        return environ.get("JAX_PLATFORMS")

    monkeypatch.setattr("bench_core.device.importlib.util.find_spec", lambda name: object())
    monkeypatch.setattr("bench_core.device.metadata.entry_points", lambda group: ())
    assert chosen() == "cpu"
    assert chosen(JAX_PLATFORMS="tpu") == "tpu"
    (tmp_path / "vfio").mkdir()
    (tmp_path / "vfio" / "vfio").touch()
    assert chosen() == "cpu"
    (tmp_path / "vfio" / "0").touch()
    assert chosen() is None


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
    assert "Could not find a valid tiling that fits in memory" in row["failed"]["message"]
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


# libtpu 0.0.42 ends with an internal error at some products of ragged_dot with one expert, for v5e, v6e and tpu7x.
INTERNAL_ERRORS = {("ragged_dot", "one expert")}


@pytest.mark.wide
@needs_libtpu
@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
@pytest.mark.parametrize("backend", ["ragged_dot", "gmm"])
def test_table_compiles(backend: str, part: int) -> None:
    """Every case of `bench-core check` that a TPU can serve, for one kind."""
    from bench_core.aot.run import compile_outcome, start_compiler

    compiler = start_compiler(choose_target("v5e"))
    for choice in choices(full=False)[part::2]:
        outcome = compile_outcome(table_case(backend, choice), compiler)
        lacks = choice["dtype"] == "float64" or (backend, choice["quant"]) == ("gmm", "int8_real")
        if outcome.word == "failed":
            assert (backend, choice["shape"]) in INTERNAL_ERRORS, outcome.text
            assert "mask_aggregator.cc" in outcome.text
        else:
            assert outcome.word == ("unsupported" if lacks else "compiled"), outcome.text
