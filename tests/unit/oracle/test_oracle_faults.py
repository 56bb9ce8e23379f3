"""Faults planted in the package, each of which the enumerator has to notice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.breadth import wide
from tests.conftest import Cli, FixedClock
from tools.oracle.campaign import Campaign
from tools.oracle.faults import FAULTS
from tools.oracle.readers import disagreements

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("names", [[*FAULTS][::12], wide([*FAULTS])], ids=["few", "all"])
def test_planted_faults_are_noticed(
    cli: Cli, folder: Path, clock: FixedClock, monkeypatch: pytest.MonkeyPatch, names: list[str]
) -> None:
    campaign = Campaign(cli, folder, clock, monkeypatch, seed=4)
    campaign.make_known()
    assert list(disagreements(campaign.cli, campaign.folder)) == []
    missed: list[str] = []
    for name in names:
        with monkeypatch.context() as patch:
            FAULTS[name](patch)
            if next(disagreements(campaign.cli, campaign.folder), None) is None:
                missed.append(name)
    assert missed == []
