"""Random campaigns through the command line, in which every reader has to say what an enumerator finds in the files
that shares nothing with the package. `python -m tools.oracle` makes 200 campaigns."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.breadth import wide
from tests.conftest import Cli, FixedClock
from tools.oracle import blocks, enumerator
from tools.oracle.campaign import Campaign
from tools.oracle.readers import disagreements

# Campaigns from FIRST on, of so many moves and at most so many runs. `make test` has the known one alone.
COUNT, FIRST = int(os.environ.get("LOGBOOK_ORACLE", "1")), int(os.environ.get("LOGBOOK_ORACLE_FIRST", "0"))
MOVES, RUNS = (7, 100) if "LOGBOOK_ORACLE" in os.environ else (3, 40)

pytestmark = pytest.mark.slow

Make = Callable[[int], Campaign]


@pytest.fixture
def make(cli: Cli, folder: Path, clock: FixedClock, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Makes the campaign of a seed."""
    return lambda seed: Campaign(cli, folder, clock, monkeypatch, seed)


def test_the_enumerator_imports_nothing_of_the_package() -> None:
    own = {"tools.oracle.blocks"}
    known = {
        "__future__",
        "json",
        "math",
        "re",
        "statistics",
        "itertools",
        "functools",
        "collections",
        "dataclasses",
        "datetime",
        "pathlib",
        "typing",
    }
    for module in (blocks, enumerator):
        found = enumerator.imports(Path(str(module.__file__)))
        assert found - own <= known | {"yaml"}


@pytest.mark.parametrize("seed", [*range(FIRST, FIRST + COUNT)] if "LOGBOOK_ORACLE" in os.environ else [wide(FIRST)])
def test_every_reader_says_what_the_files_say(make: Make, seed: int) -> None:
    campaign = make(seed)
    campaign.make(MOVES, RUNS)
    found = list(disagreements(campaign.cli, campaign.folder))
    assert not found, "\n".join(["", *campaign.done, "", *found[:5], f"{len(found)} disagreements of seed {seed}"])
