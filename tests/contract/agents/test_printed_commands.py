"""Every command that the tool prints works when it is typed: in any state of a thread, from any folder of the
project."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests import seams
from tests.breadth import wide
from tests.conftest import Cli
from tests.contract.agents.printed_commands import STATES, WIDE, Campaign, typed_in_copies


@pytest.mark.slow
@pytest.mark.parametrize("state", [wide(name, id=name) if name in WIDE else name for name in STATES])
def test_a_printed_command_works(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    later = timedelta()
    seams.set_clock(monkeypatch, lambda: datetime.now(UTC) + later)
    campaign = Campaign(cli=cli, folder=folder, steps=STATES[state])
    campaign.make()
    campaign.read()
    printed = campaign.printed.values()

    wrong = [
        f"[{one.source}] {one.command}: a template" for one in printed if one.is_template and not one.may_be_template
    ]
    # A second sitting begins ten minutes after the first.
    later = timedelta(minutes=11)
    wrong += [
        text for one in printed if not one.is_template for text in typed_in_copies(campaign, one, monkeypatch.chdir)
    ]
    assert not wrong, "\n".join(wrong)
