"""The logbooks that tests of the store begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.built import built

START = ("start", "moe", "--prefix", "MOE", "--metric", "tflops:max:TF/s")
ONE = ("run", "--title", "one", "--", "echo", "RESULT tflops=1")


@pytest.fixture
def one(cli: Cli, folder: Path) -> Cli:
    """A logbook `moe` with a run."""

    def make() -> None:
        assert [cli(*words).code for words in (START, ONE)] == [0, 0]

    built("one", folder, make)
    return cli


@pytest.fixture
def two(cli: Cli, folder: Path) -> Cli:
    """A logbook `moe` with a run, and a note."""

    def make() -> None:
        assert [cli(*words).code for words in (START, ONE, ("note", "--title", "two"))] == [0, 0, 0]

    built("two", folder, make)
    return cli
