"""A logbook to plot, made once for all tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.conftest import Cli, FixedClock
from tests.contract.report.plots.plots_support import Seeded, copied
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


@pytest.fixture(scope="session")
def seeded_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.getbasetemp()
    # The folder that all processes of a session have in common.
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "logbook-to-plot"


@pytest.fixture
def seeded(
    cli: Cli,
    folder: Path,
    double: Path,
    clock: FixedClock,
    seeded_cache: Path,
) -> Seeded:
    """A logbook with something to plot of every kind."""
    return copied(cli, folder, seeded_cache)
