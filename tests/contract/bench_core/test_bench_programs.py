"""Compiled programs that are kept from one process to the next."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.contract.bench_core.cli_support import QUICK_COMPILER, Outcome

CASE = (
    "hillclimb --tokens 16 --hidden 8 --mlp-dim 8 --experts 2 --dtype float32 --bench-pass forward --iters 1 --warmup 0"
)


def rows(*more: str, **variables: str) -> list[dict[str, Any]]:
    """The rows of a process that keeps its programs in this test's own cache folder."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    own |= {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": QUICK_COMPILER, **variables}
    done = subprocess.run(
        [sys.executable, "-m", "bench_core", *CASE.split(), *more], env=own, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return Outcome(done.returncode, done.stdout, done.stderr).rows


def row(**variables: str) -> dict[str, Any]:
    (found,) = rows(**variables)
    return found


@pytest.mark.slow
def test_a_row_says_whether_its_program_was_compiled_or_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    first, second = row(), row()
    off = row(JAX_ENABLE_COMPILATION_CACHE="false")
    assert [one["labels"]["program"] for one in (first, second, off)] == ["compiled", "loaded", "compiled"]
    for one in (first, off):
        assert one["observations"]["compile_s"] > 0
        assert one["observations"]["load_s"] is None
    assert second["observations"]["compile_s"] is None
    assert second["observations"]["load_s"] > 0
    assert {one["labels"]["check"] for one in (first, second)} == {"passed"}
    assert len(list((tmp_path / "cache/bench-core").iterdir())) == 1


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").write_text("a file\n")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert row()["labels"]["program"] == "compiled"


@pytest.mark.slow
def test_cases_of_one_command_share_an_equal_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where tokens go decides no program, as long as every assignment has a row."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    words = ["--distribution", "both", "--backend", "ragged_dot", "--topk-list", "1,2"]
    found = rows(*words)
    assert [one["labels"]["program"] for one in found] == ["compiled", "compiled", "reused", "reused"]
    for one in found[2:]:
        assert (one["observations"]["compile_s"], one["observations"]["load_s"]) == (None, None)
        assert one["labels"]["check"] == "passed"
    assert found[0]["observations"]["run_max"] != found[2]["observations"]["run_max"]
    # What draws inputs, poisons and reads outputs is there once for all four, and a routing for each top-k.
    assert len(list((tmp_path / "cache/bench-core").rglob("*-cache"))) <= 10
