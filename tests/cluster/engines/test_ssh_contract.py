"""What every executor keeps, by a real ssh."""

from __future__ import annotations

import pytest

from tests.cluster.engines.ssh_place import SshPlace
from tests.running.executors.test_executors_contract import *  # noqa: F403


@pytest.fixture
def place(box: SshPlace) -> SshPlace:
    return box
