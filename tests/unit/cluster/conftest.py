"""The executors of the tests from outside, for those of this feature's modules."""

from __future__ import annotations

from tests.contract.running.executors.conftest import local, place

__all__ = ["local", "place"]
