"""The virtual devices and the checks of shapes that the tests from outside have too."""

import pytest

from tests.contract.bench_core.conftest import _devices, _no_result_file, bench

__all__ = ["_devices", "_no_result_file", "bench"]

pytest.register_assert_rewrite("tests.unit.bench_core.gmm_contract")
