"""The server that tests from outside have too, and the adapter that speaks to it."""

from __future__ import annotations

from tests.contract.issue.conftest import bench, made_entries, thirty
from tests.contract.issue.pushed_support import other, published, pushed, told
from tests.emulator.fixtures import github, github_server
from tests.unit.issue.adapter_support import connect

__all__ = [
    "bench",
    "connect",
    "github",
    "github_server",
    "made_entries",
    "other",
    "published",
    "pushed",
    "thirty",
    "told",
]
