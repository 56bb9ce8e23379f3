"""A GitHub of one's own, for what the seeds do in issues."""

from __future__ import annotations

from tests.emulator.fixtures import github, github_server  # fixtures
from tests.issue.conftest import bench  # fixtures
from tests.issue.pushed_support import other, pushed  # fixtures

__all__ = ["bench", "github", "github_server", "other", "pushed"]
