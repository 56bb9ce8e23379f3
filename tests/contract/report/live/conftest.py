"""Fixtures of the tests of what runs on other machines."""

from tests.contract.cluster.test_executors_command import iris as iris
from tests.contract.cluster.test_executors_command import quick as quick
