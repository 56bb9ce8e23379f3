"""A GitHub of one's own, for what the seeds do in issues."""

from __future__ import annotations

from tests.contract.issue.conftest import bench
from tests.contract.issue.pushed_support import other, pushed
from tests.emulator.fixtures import github, github_server

__all__ = ["bench", "github", "github_server", "other", "pushed"]
