"""A logbook to plot, made once for all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import Cli, FixedClock
from tests.contract.report.plots.plots_support import Seeded, copied


@pytest.fixture(scope="session")
def seeded_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.getbasetemp()
    # The folder that all processes of a session have in common.
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "logbook-to-plot"


@pytest.fixture
def seeded(
    cli: Cli,
    folder: Path,
    clock: FixedClock,
    seeded_cache: Path,
) -> Seeded:
    """A logbook with something to plot of every kind."""
    return copied(cli, folder, seeded_cache)
