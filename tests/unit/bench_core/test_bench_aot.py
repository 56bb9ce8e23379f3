"""Compiling for TPUs that are not there: what needs no compiler, and a few cases that do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench_core.aot.libtpu import captured_output
from bench_core.aot.refusals import Reason, read_refusal
from bench_core.aot.targets import TARGETS, choose_target
from bench_core.device import keep_absent_tpus_quiet
from bench_core.errors import UsageError
from bench_core.harness.case import Case
from bench_core.harness.table import choices, table_case

needs_libtpu = pytest.mark.skipif(sys.platform != "linux" or os.uname().machine != "x86_64", reason="no libtpu here")


def test_targets_have_two_names() -> None:
    for name, target in TARGETS.items():
        assert choose_target(name) is target
        # A kind is its first: one host with four chips.
        assert choose_target(target.kind) is next(one for one in TARGETS.values() if one.kind == target.kind)
        assert choose_target(target.kind).chips == 4
    with pytest.raises(UsageError, match="--aot v3 is not known"):
        choose_target("v3")


@pytest.mark.slow
@needs_libtpu
def test_the_compiler_knows_every_slice() -> None:
    words = "from bench_core.aot.libtpu import compile_devices; from bench_core.aot.targets import TARGETS; "
    words += "print([(t.name, len(compile_devices(t)), compile_devices(t)[0].device_kind) for t in TARGETS.values()])"
    said = subprocess.run([sys.executable, "-c", words], check=True, capture_output=True, text=True).stdout
    assert said.strip() == str([(t.name, t.chips * t.chip.devices, t.device_kind) for t in TARGETS.values()])


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
