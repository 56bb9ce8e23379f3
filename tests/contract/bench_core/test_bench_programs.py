"""Compiled programs that are kept from one process to the next."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.bench_core.cli_support import QUICK_COMPILER, Outcome

CASE = (
    "hillclimb --tokens 16 --hidden 8 --mlp-dim 8 --experts 2 --dtype float32 --bench-pass forward --iters 1 --warmup 0"
)


def row(**variables: str) -> dict[str, object]:
    """The row of one case, in a process that keeps its programs in this test's own cache folder."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    own |= {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": QUICK_COMPILER, **variables}
    done = subprocess.run(
        [sys.executable, "-m", "bench_core", *CASE.split()], env=own, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (found,) = Outcome(done.returncode, done.stdout, done.stderr).rows
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
