"""What every executor keeps, by a real ssh."""

from __future__ import annotations

import pytest

from tests.contract.engines.ssh_place import SshPlace
from tests.contract.running.executors.test_executors_contract import *  # noqa: F403


@pytest.fixture
def place(box: SshPlace) -> SshPlace:
    return box
