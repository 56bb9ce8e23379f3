"""The story fixture of the golden tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli, FixedClock
from tests.contract.e2e.golden.golden_support import Story


@pytest.fixture
def story(cli: Cli, clock: FixedClock, folder: Path) -> Story:
    return Story(cli, clock, folder)
