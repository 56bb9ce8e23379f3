"""`logbook` with a double of the benchmark, which predicts and measures without a compiler or a device."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.seams import set_benchmark

DOUBLE = Path(__file__).with_name("bench_core_double.py")


@pytest.fixture
def double(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a `bench-core` that is found first."""
    place = tmp_path / "bin"
    place.mkdir()
    program = place / "bench-core"
    program.write_text(f"#!{sys.executable}\nimport runpy, sys\nrunpy.run_path({str(DOUBLE)!r}, run_name='__main__')\n")
    program.chmod(0o755)
    set_benchmark(monkeypatch, place)
    return place


@pytest.fixture
def moe(cli: Cli, double: Path) -> Cli:
    """The command line in a folder with one logbook, `moe` with prefix MOE, whose metric is the time of a call."""
    assert cli("start", "moe", "--prefix", "MOE", "--metric", "time_s:min:s", "--metric", "tflops:max:TF/s").code == 0
    return cli
