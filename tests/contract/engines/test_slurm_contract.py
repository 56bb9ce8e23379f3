"""What every executor keeps, by jobs of a real Slurm."""

from __future__ import annotations

import pytest

from tests.contract.engines.slurm_place import SlurmPlace
from tests.contract.running.executors.test_executors_contract import *  # noqa: F403

# No value is handed to a job: test_slurm_submission.py has names instead.
del globals()["test_a_secret_is_in_no_file"]


@pytest.fixture
def place(queue: SlurmPlace) -> SlurmPlace:
    return queue
