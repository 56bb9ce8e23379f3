"""The executors of the core's tests, for those of this feature."""

from __future__ import annotations

from tests.contract.running.executors.conftest import local, place

__all__ = ["local", "place"]
