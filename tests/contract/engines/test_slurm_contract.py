"""What every executor keeps, and every batch system, by jobs of a real Slurm."""

from __future__ import annotations

import pytest

from tests.contract.cluster.test_batch_contract import *  # noqa: F403
from tests.contract.engines.slurm_place import SlurmPlace


@pytest.fixture
def batch(queue: SlurmPlace) -> SlurmPlace:
    return queue
